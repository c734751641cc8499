import { useQuery } from "@tanstack/react-query";
import { useMoney } from "@/api/hooks";
import { storageQuery } from "@/api/queries/admin";
import { Card, Figure, Figures } from "@/components/card";
import { Empty } from "@/components/empty";
import { Loaded } from "@/components/loaded";
import { Meter } from "@/components/meter";
import { Money } from "@/components/money";
import { Tag } from "@/components/state";
import { Table } from "@/components/table";
import { bytes, count } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminPool } from "@/texts/admin-pool";
import { ActMenu } from "./act";
import { Person, Section } from "./section";
import { storageActs } from "./storage-acts";

const { storage: text } = adminPool;

export default function StoragePage() {
  const query = useQuery(storageQuery);
  const money = useMoney();
  return (
    <Section title={text.title} about={text.about}>
      <Card flush>
        <Loaded query={query}>
          {(all) => (
            <>
              <Figures className="grid-cols-1! sm:grid-cols-3!">
                <Figure name={text.all} value={bytes(all.bytes)} />
                <Figure name={text.objects} value={count(all.objects)} />
                <Figure name={text.owners} value={count(all.owners)} />
              </Figures>
              {all.items.length === 0 ? (
                <div className="border-t border-line">
                  <Empty title={text.empty} about={text.emptyAbout} />
                </div>
              ) : (
                <Table
                  label={text.title}
                  rows={all.items}
                  keyOf={({ owner_id }) => owner_id}
                  columns={[
                    {
                      name: text.owner,
                      cell: (one) => (
                        <>
                          <Person id={one.owner_id} name={one.email} /> {one.own_limits && <Tag>{text.own}</Tag>}
                        </>
                      ),
                    },
                    {
                      name: text.used,
                      cell: (one) => (
                        <div className="sm:min-w-36">
                          <p className="text-sm">
                            {text.of(bytes(one.bytes), one.limit_bytes == null ? text.noLimit : bytes(one.limit_bytes))}
                          </p>
                          {one.limit_bytes != null && (
                            <Meter
                              label={text.used}
                              part={one.limit_bytes ? one.bytes / one.limit_bytes : 1}
                              tone={one.bytes >= one.limit_bytes ? "bg-bad-dot" : "bg-live-dot"}
                            />
                          )}
                        </div>
                      ),
                    },
                    {
                      name: text.objects,
                      align: "right",
                      className: "max-md:hidden",
                      cell: (one) => count(one.objects),
                    },
                    {
                      name: text.today,
                      align: "right",
                      className: "max-md:hidden",
                      cell: (one) => bytes(one.bytes_today),
                    },
                    ...(money
                      ? [
                          {
                            name: text.cost,
                            align: "right" as const,
                            className: "max-sm:hidden",
                            cell: (one: { cost_micros_per_day: number | null; unpaid_micros: number | null }) => (
                              <>
                                {one.cost_micros_per_day == null ? "–" : <Money micros={one.cost_micros_per_day} />}
                                {!!one.unpaid_micros && (
                                  <p className="text-sm text-bad">
                                    {text.unpaid} <Money micros={one.unpaid_micros} />
                                  </p>
                                )}
                              </>
                            ),
                          },
                        ]
                      : []),
                    {
                      name: admin.actions,
                      align: "right",
                      cell: (one) => (
                        <ActMenu label={admin.actionsOf(one.email ?? one.owner_id)} acts={storageActs(one)} />
                      ),
                    },
                  ]}
                />
              )}
            </>
          )}
        </Loaded>
      </Card>
    </Section>
  );
}

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { reliabilityQuery } from "@/api/queries/nodes";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { Field, Form, TextArea } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { More } from "@/components/more";
import { State } from "@/components/state";
import { Table } from "@/components/table";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { percent } from "@/lib/amounts";
import { date } from "@/lib/time";
import { common } from "@/texts/common";
import { nodes as texts } from "@/texts/nodes";

const t = texts.reliability;
type Event = Schemas["ReliabilityEvent"];
const signed = (weight: number) => `${weight > 0 ? "+" : weight < 0 ? "−" : ""}${Math.abs(weight)}`;

/** How reliable a node is taken to be, what that is made of, and everything that moved it. */
export function Reliability({ nodeId }: { nodeId: string }) {
  const query = useInfiniteQuery(reliabilityQuery(nodeId));
  return (
    <Card title={t.title} about={t.about} flush>
      <Loaded query={query}>
        {(data) => {
          const { reliability, formula, uptime } = data.pages[0]!;
          const items = flat(data);
          return (
            <>
              <div className="grid gap-x-8 gap-y-4 px-4 pb-4 sm:grid-cols-2">
                <div>
                  <Facts>
                    <Fact name={t.shown}>
                      {reliability.has_record ? percent(reliability.mean) : texts.list.noRecord}
                    </Fact>
                    <Fact name={t.lower}>{percent(reliability.lower)}</Fact>
                    {reliability.audited.ok + reliability.audited.wrong > 0 && (
                      <Fact name={t.audited}>{t.auditedIs(reliability.audited.ok, reliability.audited.wrong)}</Fact>
                    )}
                    {reliability.quarantined_until && (
                      <Fact name={t.quarantined}>
                        <When at={reliability.quarantined_until} />
                      </Fact>
                    )}
                    {reliability.declined_until && (
                      <Fact name={t.declined}>
                        <When at={reliability.declined_until} />
                      </Fact>
                    )}
                  </Facts>
                  {reliability.notice && <p className="mt-1 text-sm text-warn text-pretty">{reliability.notice}</p>}
                  <details className="mt-2">
                    <summary className="cursor-pointer text-sm text-muted hover:text-text">{t.made}</summary>
                    <Facts className="mt-1 text-sm">
                      <Fact name={t.good}>{formula.good.toFixed(1)}</Fact>
                      <Fact name={t.bad}>{formula.bad.toFixed(1)}</Fact>
                      <Fact name={t.prior}>{t.priorIs(formula.prior_good, formula.prior_bad)}</Fact>
                      <Fact name={t.half}>{t.days(formula.half_life_days)}</Fact>
                      {Object.entries(formula.weights)
                        .filter(([, weight]) => weight !== 0)
                        .map(([verdict, weight]) => (
                          <Fact key={verdict} name={t.verdicts[verdict] ?? verdict}>
                            {signed(weight)}
                          </Fact>
                        ))}
                    </Facts>
                  </details>
                </div>
                <figure className="min-w-0">
                  <figcaption className="flex justify-between text-sm text-muted">
                    {t.uptime} <span>{percent(reliability.uptime_30d)}</span>
                  </figcaption>
                  <UptimeStrip days={uptime} />
                </figure>
              </div>
              <h3 className="px-4 pb-2 text-sm font-medium">{t.events}</h3>
              {items.length === 0 ? (
                <p className="px-4 pb-4 text-muted">{t.noEvents}</p>
              ) : (
                <Table
                  label={t.events}
                  rows={items}
                  keyOf={(event) => String(event.id)}
                  columns={[
                    { name: t.at, cell: (event) => <When at={event.at} ago /> },
                    {
                      name: t.what,
                      cell: (event) => (
                        <>
                          {t.verdicts[event.verdict] ?? event.verdict}
                          <span className="block text-sm text-muted">{event.reason.replaceAll("_", " ")}</span>
                        </>
                      ),
                    },
                    { name: t.weight, align: "right", cell: (event) => signed(event.weight) },
                    { name: t.standing, align: "right", cell: (event) => <Standing nodeId={nodeId} event={event} /> },
                  ]}
                />
              )}
              <More query={query} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

const UPTIME_DAYS = 30;
/** One bar a day, the newest on the right; days before the node joined are empty. */
function UptimeStrip({ days }: { days: Schemas["DayUptime"][] }) {
  return (
    <ol className="mt-2 flex h-12 items-end gap-0.5">
      {Array.from({ length: Math.max(0, UPTIME_DAYS - days.length) }, (_, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <li key={place} aria-hidden className="h-full flex-1 rounded-xs bg-sunken" />
      ))}
      {days.map(({ day, share }) => (
        <li
          key={day}
          title={t.uptimeOf(date(`${day}T12:00:00Z`), percent(share))}
          className="flex h-full flex-1 items-end rounded-xs bg-sunken"
        >
          <span className="sr-only">{t.uptimeOf(date(`${day}T12:00:00Z`), percent(share))}</span>
          <span className="w-full rounded-xs bg-good-dot" style={{ height: `${share * 100}%` }} />
        </li>
      ))}
    </ol>
  );
}

function Standing({ nodeId, event }: { nodeId: string; event: Event }) {
  if (event.resolution) {
    return (
      <span title={event.resolution_note ?? undefined}>
        <State of={event.resolution} look={event.resolution === "dismissed" ? "idle" : "good"}>
          {t.resolutions[event.resolution] ?? event.resolution}
        </State>
      </span>
    );
  }
  if (event.contested_at) return <State of="open">{t.contested}</State>;
  return event.actions.contest.allowed ? <ContestDialog nodeId={nodeId} event={event} /> : null;
}

function ContestDialog({ nodeId, event }: { nodeId: string; event: Event }) {
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      trigger={<Button size="sm">{t.contest}</Button>}
      title={t.contestTitle}
      about={t.contestAbout}
    >
      <Form
        onSubmit={async ({ reason = "" }) => {
          const path = { node_id: nodeId, event_id: event.id };
          await ask(
            api.POST("/api/v1/nodes/{node_id}/reliability/{event_id}/contest", { params: { path }, body: { reason } }),
          );
          await queries.invalidateQueries({ queryKey: ["node", nodeId, "reliability"] });
          toast({ title: t.sent, tone: "good" });
          setOpen(false);
        }}
      >
        {(pending) => (
          <>
            <Field name="reason" label={t.reason}>
              <TextArea required />
            </Field>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setOpen(false)}>{common.cancel}</Button>
              <Button type="submit" look="primary" pending={pending}>
                {t.send}
              </Button>
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}

import { useInfiniteQuery } from "@tanstack/react-query";
import { useMoney } from "@/api/hooks";
import { usersQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { Tag } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminPool } from "@/texts/admin-pool";
import { Listing, Person, Section, UrlSearch, UrlSelect } from "./section";

const { users: text } = adminPool;

export default function UsersPage() {
  const [filters] = useFilters();
  const money = useMoney();
  const query = useInfiniteQuery(usersQuery(filters));
  return (
    <Section title={text.title} about={text.about}>
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title={text.empty} about={text.emptyAbout} />}
        filters={
          <>
            <UrlSearch label={text.search} />
            <UrlSelect name="role" label={text.role} options={Object.entries(text.roles)} />
            <UrlSelect name="state" label={admin.anyState} options={Object.entries(text.states)} />
          </>
        }
        columns={[
          {
            name: text.user,
            cell: (user) => (
              <>
                <span className="font-medium">
                  <Person id={user.id} name={user.name} />
                </span>{" "}
                {user.role === "admin" && <Tag tone="live">{text.roles.admin}</Tag>}{" "}
                {user.disabled_at && <Tag tone="bad">{text.disabled}</Tag>}
                <p className="text-sm break-all text-muted">{user.email}</p>
              </>
            ),
          },
          { name: text.openJobs, align: "right", className: "max-sm:hidden", cell: (user) => count(user.open_jobs) },
          { name: text.nodes, align: "right", className: "max-sm:hidden", cell: (user) => count(user.nodes) },
          ...(money
            ? [
                {
                  name: text.spendable,
                  align: "right" as const,
                  cell: (user: { spendable_micros: number | null; debt_micros: number | null }) => (
                    <>
                      <Money micros={user.spendable_micros ?? 0} />
                      {!!user.debt_micros && (
                        <p className="text-sm text-bad">
                          {text.debt} <Money micros={user.debt_micros} />
                        </p>
                      )}
                    </>
                  ),
                },
                {
                  name: text.earnings,
                  align: "right" as const,
                  className: "max-md:hidden",
                  cell: (user: { earnings_micros: number | null }) => <Money micros={user.earnings_micros ?? 0} />,
                },
              ]
            : []),
          { name: text.joined, className: "max-lg:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
        ]}
      />
    </Section>
  );
}

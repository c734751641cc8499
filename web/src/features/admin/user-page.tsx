import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { limitsQuery, ownerStorageQuery, userQuery, userSessionsQuery } from "@/api/queries/admin";
import { Card, Fact, Facts, Figure, Figures } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { Table } from "@/components/table";
import { When } from "@/components/when";
import { bytes, count, country } from "@/lib/amounts";
import { adminPool } from "@/texts/admin-pool";
import { Act, Acts } from "./act";
import { inWords, Section } from "./section";
import { storageActs } from "./storage-acts";
import { accountActs, balanceActs, limitsAct } from "./user-acts";

const { user: text, users, storage } = adminPool;
type User = Schemas["UserView"];

function Balance({ user }: { user: User }) {
  return (
    <Card flush title={text.balance}>
      <Figures className="border-y border-line sm:grid-cols-3!">
        <Figure name={users.spendable} value={<Money micros={user.spendable_micros ?? 0} />} />
        <Figure name={users.earnings} value={<Money micros={user.earnings_micros ?? 0} />} />
        <Figure
          name={users.debt}
          value={<Money micros={user.debt_micros ?? 0} {...(user.debt_micros ? { className: "text-bad" } : {})} />}
        />
      </Figures>
      <div className="p-4">
        <Acts acts={balanceActs(user)} />
      </div>
    </Card>
  );
}

function Limits({ owner, money }: { owner: string; money: boolean }) {
  const query = useQuery(limitsQuery(owner));
  const amount = (micros: number | null) => (micros == null ? text.noLimit : <Money micros={micros} />);
  return (
    <Card
      title={text.limits}
      about={text.limitsAbout}
      aside={query.data && <Act act={limitsAct(owner, query.data, money)} />}
    >
      <Loaded query={query}>
        {(limits) => (
          <div className="grid gap-x-8 sm:grid-cols-2">
            <Facts>
              <Fact name={text.slices}>{limits.slices == null ? text.noLimit : count(limits.slices)}</Fact>
              {money && (
                <>
                  <Fact name={text.hourly}>{amount(limits.hourly_micros)}</Fact>
                  <Fact name={text.daily}>{amount(limits.daily_micros)}</Fact>
                  <Fact name={text.monthly}>{amount(limits.monthly_micros)}</Fact>
                </>
              )}
            </Facts>
            <Facts>
              <Fact name={text.running}>{count(limits.running_slices)}</Fact>
              <Fact name={text.queued}>
                {limits.limit_queued_slices == null
                  ? count(limits.queued_slices)
                  : storage.of(count(limits.queued_slices), count(limits.limit_queued_slices))}
              </Fact>
              <Fact name={text.specs}>
                {limits.limit_queued_bytes == null
                  ? bytes(limits.queued_bytes)
                  : storage.of(bytes(limits.queued_bytes), bytes(limits.limit_queued_bytes))}
              </Fact>
              {money && (
                <>
                  <Fact name={text.runningCost}>
                    <Money micros={limits.running_hourly_micros ?? 0} per="h" />
                  </Fact>
                  <Fact name={text.spentToday}>
                    <Money micros={limits.spent_today_micros ?? 0} />
                  </Fact>
                </>
              )}
            </Facts>
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function Storage({ owner }: { owner: string }) {
  const query = useQuery(ownerStorageQuery(owner));
  return (
    <Card title={text.storage} aside={query.data && <Acts acts={storageActs(query.data)} />}>
      <Loaded query={query}>
        {(used) => (
          <Facts>
            <Fact name={storage.used}>
              {used.limit_bytes == null ? bytes(used.bytes) : storage.of(bytes(used.bytes), bytes(used.limit_bytes))}
            </Fact>
            <Fact name={storage.objects}>
              {used.limit_objects == null
                ? count(used.objects)
                : storage.count(count(used.objects), count(used.limit_objects))}
            </Fact>
            <Fact name={storage.today}>{bytes(used.bytes_today)}</Fact>
          </Facts>
        )}
      </Loaded>
    </Card>
  );
}

function Sessions({ user }: { user: string }) {
  const query = useQuery(userSessionsQuery(user));
  return (
    <Card flush title={text.sessions} about={text.sessionsAbout}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="border-t border-line p-4 text-muted">{text.noSessions}</p>
          ) : (
            <Table
              label={text.sessions}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: text.program,
                  cell: ({ user_agent, method }) => (
                    <>
                      <span className="line-clamp-1 break-all">{user_agent || "–"}</span>
                      {method && <p className="text-sm text-muted">{inWords(method)}</p>}
                    </>
                  ),
                },
                { name: text.address, className: "max-sm:hidden", cell: ({ address }) => address ?? "–" },
                { name: text.lastUsed, cell: ({ last_used_at }) => <When at={last_used_at} ago /> },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function Related({ user, money }: { user: User; money: boolean }) {
  const { id } = user;
  const links = [
    { to: "/admin/jobs", search: { owner: id }, name: text.jobs },
    { to: "/admin/nodes", search: { owner: id }, name: text.nodes },
    ...(money
      ? [
          { to: "/admin/disputes", search: { owner: id }, name: text.disputes },
          { to: "/admin/cash-outs", search: { owner: id }, name: text.cashOuts },
          { to: "/admin/payments", search: { tab: "top-ups", owner: id }, name: text.topUps },
        ]
      : []),
    { to: "/admin/audit", search: { actor: id }, name: text.did },
    { to: "/admin/audit", search: { subject: id }, name: text.done },
    { to: "/admin/mails", search: { user: id }, name: text.mails },
  ];
  return (
    <Card title={text.related}>
      <ul className="flex flex-wrap gap-x-4 gap-y-2">
        {links.map(({ to, search, name }) => (
          <li key={name}>
            <Link to={to} search={search} className="text-accent hover:underline">
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

export default function UserPage() {
  const { userId = "" } = useParams({ strict: false });
  const money = useMoney();
  const query = useQuery(userQuery(userId));
  const user = query.data;
  return (
    <Section
      title={user?.name || user?.email || userId}
      back={{ to: "/admin/users", name: text.back }}
      beside={
        user && (
          <>
            <Tag tone={user.role === "admin" ? "live" : undefined}>{users.roles[user.role]}</Tag>
            {user.disabled_at && <State of="disabled" look="bad" />}
          </>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-96 rounded-lg" />}>
        {(user) => (
          <>
            <Card title={text.facts} aside={user.email}>
              <Facts>
                <Fact name={text.id}>
                  <code className="text-sm">{user.id}</code>
                </Fact>
                <Fact name={text.country}>{user.country ? country(user.country) : "–"}</Fact>
                <Fact name={text.joined}>
                  <When at={user.created_at} />
                </Fact>
                {user.disabled_at && (
                  <Fact name={text.disabledSince}>
                    <When at={user.disabled_at} ago />
                  </Fact>
                )}
                <Fact name={users.openJobs}>{count(user.open_jobs)}</Fact>
                <Fact name={users.nodes}>{count(user.nodes)}</Fact>
              </Facts>
              <div className="mt-3">
                <Acts acts={accountActs(user)} explain />
              </div>
            </Card>
            <Related user={user} money={money} />
            {money && <Balance user={user} />}
            <Limits owner={user.id} money={money} />
            <Storage owner={user.id} />
            <Sessions user={user.id} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

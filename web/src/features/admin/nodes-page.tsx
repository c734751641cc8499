import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "@/api/client";
import { allNodesQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { State, Tag } from "@/components/state";
import { When } from "@/components/when";
import { count, country, percent } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminPool } from "@/texts/admin-pool";
import { ActMenu, type ActSpec } from "./act";
import { Listing, NodeLink, options, Person, Section, UrlChip, UrlSearch, UrlSelect } from "./section";

const { nodes: text } = adminPool;
const STATES = ["online", "paused", "draining", "quarantined", "offline", "banned"];
type Node = Schemas["NodeView"];

function actsOf({ id: node_id, name, actions, reliability }: Node): ActSpec[] {
  const params = { path: { node_id } };
  const missing = reliability.missing_for_verified;
  return [
    {
      name: text.verify,
      title: text.verifyTitle(name),
      about: missing.length ? `${text.verifyAbout} ${text.missing} ${missing.join(" ")}` : text.verifyAbout,
      done: text.verified,
      run: () => ask(api.POST("/api/v1/admin/nodes/{node_id}/verify", { params })),
    },
    {
      name: text.unverify,
      title: text.unverifyTitle(name),
      about: text.unverifyAbout,
      done: text.unverified,
      run: () => ask(api.POST("/api/v1/admin/nodes/{node_id}/unverify", { params })),
    },
    {
      name: text.drain,
      view: actions.drain,
      title: text.drainTitle(name),
      about: text.drainAbout,
      done: text.drained,
      run: () => ask(api.POST("/api/v1/nodes/{node_id}/drain", { params })),
    },
    {
      name: text.resume,
      view: actions.resume,
      title: text.resumeTitle(name),
      about: text.resumeAbout,
      done: text.resumed,
      run: () => ask(api.POST("/api/v1/nodes/{node_id}/resume", { params })),
    },
    {
      name: text.ban,
      view: actions.remove,
      danger: true,
      title: text.banTitle(name),
      about: text.banAbout,
      done: text.banned,
      run: () => ask(api.POST("/api/v1/nodes/{node_id}/ban", { params })),
    },
  ];
}

/** "2 × RTX 4090" for cards of the same name. */
function cards({ capacity }: Node): string {
  const names = new Map<string, number>();
  for (const { name } of capacity.gpus) names.set(name, (names.get(name) ?? 0) + 1);
  return [...names].map(([name, number]) => (number > 1 ? `${number} × ${name}` : name)).join(", ");
}

export default function AdminNodesPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(allNodesQuery(filters));
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
            <UrlSelect name="state" label={admin.anyState} options={options(STATES)} />
            <UrlChip name="country" label={text.country} />
            <UrlChip name="owner" label={admin.owner} />
          </>
        }
        columns={[
          {
            name: text.node,
            cell: (node) => (
              <>
                <NodeLink id={node.id}>
                  <span className="font-medium">{node.name}</span>
                </NodeLink>{" "}
                {node.capacity.simulated && <Tag>{text.simulated}</Tag>}
                <p className="line-clamp-2 max-w-64 text-sm text-muted">{node.notice}</p>
              </>
            ),
          },
          {
            name: admin.owner,
            className: "max-md:hidden",
            cell: ({ owner_id, owner_name }) => <Person id={owner_id} name={owner_name} />,
          },
          {
            name: text.cards,
            className: "max-lg:hidden",
            cell: (node) => (
              <>
                {cards(node) || text.cpus(count(node.capacity.cpus))}
                {node.country && <p className="text-sm text-muted">{country(node.country)}</p>}
              </>
            ),
          },
          {
            name: text.reliability,
            align: "right",
            className: "max-sm:hidden",
            cell: ({ reliability }) => (
              <>
                {reliability.has_record ? percent(reliability.mean) : "–"}
                {reliability.verified && (
                  <p>
                    <Tag tone="good">{admin.verified}</Tag>
                  </p>
                )}
              </>
            ),
          },
          {
            name: text.running,
            align: "right",
            className: "max-sm:hidden",
            cell: (node) => count(node.running_attempts),
          },
          { name: text.seen, className: "max-xl:hidden", cell: ({ last_seen_at }) => <When at={last_seen_at} ago /> },
          { name: admin.state, cell: ({ state }) => <State of={state} /> },
          {
            name: admin.actions,
            align: "right",
            cell: (node) => <ActMenu label={admin.actionsOf(node.name)} acts={actsOf(node)} />,
          },
        ]}
      />
    </Section>
  );
}

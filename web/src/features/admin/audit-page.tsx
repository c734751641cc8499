import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { auditActionsQuery, auditQuery } from "@/api/queries/admin";
import { flat } from "@/api/queries/pages";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { inputClass } from "@/components/input-class";
import { When } from "@/components/when";
import { cn } from "@/lib/cn";
import { adminHub } from "@/texts/admin-hub";
import { JobLink, Listing, NodeLink, Person, Section, UrlSearch, UrlSelect } from "./section";

const { audit: text } = adminHub;

/** An object by the kind that its id carries. */
function Thing({ id, name }: { id: string; name: string | null }): ReactNode {
  if (id === "hub") return <span className="text-muted">{text.hub}</span>;
  if (id.startsWith("user_")) return <Person id={id} name={name} />;
  if (id.startsWith("job_")) return <JobLink id={id}>{name}</JobLink>;
  if (id.startsWith("node_")) return <NodeLink id={id}>{name}</NodeLink>;
  return (
    <code title={id} className="block w-44 truncate text-sm">
      {name ?? id}
    </code>
  );
}

function ActionFilter() {
  const id = useId();
  const [filters, set] = useFilters();
  const known = useQuery(auditActionsQuery).data?.items ?? [];
  const stored = filters.action ?? "";
  return (
    <div className="w-56 max-sm:w-full">
      <input
        key={stored}
        type="search"
        list={id}
        aria-label={text.action}
        placeholder={text.action}
        defaultValue={stored}
        onChange={(event) => {
          if (known.includes(event.target.value)) set({ action: event.target.value });
        }}
        onBlur={(event) => event.target.value !== stored && set({ action: event.target.value || undefined })}
        onKeyDown={(event) => event.key === "Enter" && set({ action: event.currentTarget.value || undefined })}
        className={cn(inputClass, "h-8")}
      />
      <datalist id={id}>
        {known.map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </div>
  );
}

function Instant({ name, label }: { name: string; label: string }) {
  const [filters, set] = useFilters();
  return (
    <label className="flex items-center gap-1.5 text-sm text-muted">
      {label}
      <input
        type="datetime-local"
        value={filters[name] ?? ""}
        onChange={(event) => set({ [name]: event.target.value || undefined })}
        className={cn(inputClass, "h-8 w-auto!")}
      />
    </label>
  );
}

export default function AuditPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(auditQuery(filters));
  const hasMore = query.hasNextPage && query.data && flat(query.data).length === 0;
  return (
    <Section title={text.title} about={text.about}>
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => String(id)}
        empty={<Empty title={text.empty} about={hasMore ? text.partial : text.emptyAbout} />}
        filters={
          <>
            <UrlSearch name="q" label={text.q} />
            <ActionFilter />
            <UrlSearch name="actor" label={text.actor} className="w-48" />
            <UrlSearch name="subject" label={text.subject} className="w-48" />
            <Instant name="since" label={text.since} />
            <Instant name="until" label={text.until} />
            <UrlSelect name="order" label={text.order} options={[["at", text.oldest]]} />
          </>
        }
        columns={[
          { name: text.at, cell: ({ at }) => <When at={at} /> },
          { name: text.what, cell: ({ action }) => <code className="text-sm">{action}</code> },
          { name: text.who, cell: ({ actor, actor_name }) => <Thing id={actor} name={actor_name} /> },
          { name: text.to, cell: ({ subject, subject_name }) => <Thing id={subject} name={subject_name} /> },
          {
            name: text.details,
            className: "max-md:hidden",
            cell: ({ details }) => (
              <ul className="flex max-w-104 flex-wrap gap-x-3 text-sm">
                {details.map(({ name, value }) => (
                  <li key={name} className="line-clamp-3 break-all">
                    <span className="text-muted">{name}</span> {value}
                  </li>
                ))}
              </ul>
            ),
          },
        ]}
      />
    </Section>
  );
}

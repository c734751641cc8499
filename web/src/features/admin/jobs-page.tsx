import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "@/api/client";
import { allJobsQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { State, Tag } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminPool } from "@/texts/admin-pool";
import { ActMenu, type ActSpec } from "./act";
import { JobLink, Listing, options, Person, Section, UrlChip, UrlSearch, UrlSelect } from "./section";

const { jobs: text } = adminPool;
const STATES = ["queued", "running", "succeeded", "failed", "canceled"];

const cancel = ({ id, actions }: Schemas["JobSummary"]): ActSpec => ({
  name: text.cancel,
  view: actions?.cancel,
  danger: true,
  title: text.cancelTitle,
  about: text.cancelAbout,
  done: text.canceled,
  run: () => ask(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: id } } })),
});

export default function AdminJobsPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(allJobsQuery(filters));
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
            <UrlSelect name="order" label={text.order} options={Object.entries(text.orders)} />
            <UrlChip name="owner" label={admin.owner} />
            <UrlChip name="node" label={text.node} />
          </>
        }
        columns={[
          {
            name: text.job,
            cell: (job) => (
              <>
                <JobLink id={job.id}>
                  <span className="font-medium">{job.name}</span>
                </JobLink>{" "}
                {job.simulated && <Tag>{text.simulated}</Tag>}
                <p className="line-clamp-2 max-w-72 text-sm text-muted">{job.message}</p>
              </>
            ),
          },
          {
            name: admin.owner,
            className: "max-md:hidden",
            cell: ({ owner_id, owner_name }) => <Person id={owner_id} name={owner_name} />,
          },
          {
            name: text.asks,
            className: "max-xl:hidden",
            cell: ({ resources, progress, slice_count }) => (
              <>
                <span className="text-sm">{resources}</span>
                {slice_count > 1 && (
                  <p className="text-sm text-muted">{text.progress(count(progress.succeeded), count(slice_count))}</p>
                )}
              </>
            ),
          },
          { name: text.submitted, className: "max-sm:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
          {
            name: text.cost,
            align: "right",
            className: "max-sm:hidden",
            cell: ({ cost_micros }) =>
              cost_micros == null ? <span className="text-muted">–</span> : <Money micros={cost_micros} />,
          },
          { name: admin.state, cell: ({ state }) => <State of={state} /> },
          {
            name: admin.actions,
            align: "right",
            cell: (job) => <ActMenu label={admin.actionsOf(job.name)} acts={[cancel(job)]} />,
          },
        ]}
      />
    </Section>
  );
}

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { sharedOutputsQuery, sharedQuery } from "@/api/queries/jobs";
import { flat } from "@/api/queries/pages";
import { Card, Fact, Facts } from "@/components/card";
import { useFilters } from "@/components/filters";
import { More } from "@/components/more";
import { Page } from "@/components/page";
import { Skeleton, SkeletonRows } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { Table } from "@/components/table";
import { Trouble } from "@/components/trouble";
import { Took, When } from "@/components/when";
import { bytes } from "@/lib/amounts";
import { jobTexts } from "@/texts/jobs";
import { LogView } from "./log/log-view";
import { indicesOf, SliceCard } from "./slice-grid";

const text = jobTexts.shared;

/** A job as a share link shows it to everybody: read-only. */
export default function SharedPage() {
  const { token } = useParams({ strict: false }) as { token: string };
  const [search, set] = useFilters<{ slice?: string }>();
  const query = useQuery(sharedQuery(token));
  if (!query.data) {
    return (
      <Page title={text.unnamed}>
        {query.error ? (
          <Trouble error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Skeleton className="h-96 w-full rounded-lg" />
        )}
      </Page>
    );
  }
  const { job, with_logs, with_outputs, expires_at } = query.data;
  const slice = Number(search.slice ?? 0) || 0;
  return (
    <Page
      title={job.name ?? text.unnamed}
      beside={
        <>
          <State of={job.state} />
          {job.simulated && <Tag>{jobTexts.simulated}</Tag>}
          {job.progress.total > 1 && (
            <span className="text-muted">{jobTexts.slices(job.progress.succeeded, job.progress.total)}</span>
          )}
        </>
      }
      about={text.about}
    >
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-4">
          {with_logs && (
            <LogView
              key={slice}
              source={{ share: token, slice }}
              title={
                <>
                  <span className="font-medium">{jobTexts.log.title}</span>
                  {job.slices.length > 1 && <span className="text-muted">{jobTexts.log.slice(slice)}</span>}
                </>
              }
              download={null}
              ended={job.finished_at != null}
              className="h-[60dvh] min-h-96"
            />
          )}
          {with_outputs && <SharedOutputs token={token} />}
        </div>
        <aside className="flex min-w-0 flex-col gap-4">
          {job.slices.length > 1 && (
            <SliceCard
              letters={job.slices}
              legend={job.legend}
              indices={indicesOf(null, job.slices.length)}
              chosen={slice}
              onChoose={(index) => set({ slice: String(index) })}
            />
          )}
          <Card title={text.details}>
            <Facts>
              <Fact name={text.resources}>{job.resources}</Fact>
              <Fact name={text.submitted}>
                <When at={job.created_at} />
              </Fact>
              <Fact name={text.started}>
                <When at={job.started_at} />
              </Fact>
              <Fact name={jobTexts.node.took}>
                <Took from={job.started_at} to={job.finished_at} />
              </Fact>
              {job.exit_code != null && <Fact name={text.exit}>{job.exit_code}</Fact>}
              {expires_at && (
                <Fact name={text.until}>
                  <When at={expires_at} />
                </Fact>
              )}
            </Facts>
          </Card>
        </aside>
      </div>
    </Page>
  );
}

function SharedOutputs({ token }: { token: string }) {
  const query = useInfiniteQuery(sharedOutputsQuery(token));
  const files = query.data ? flat(query.data) : [];
  const { outputs } = jobTexts;
  return (
    <Card title={outputs.title} flush>
      {!query.data && !query.error && <SkeletonRows rows={3} />}
      {!query.data && query.error && (
        <div className="p-4">
          <Trouble error={query.error} retry={() => void query.refetch()} />
        </div>
      )}
      {query.data && files.length === 0 && <p className="px-4 pb-4 text-muted">{outputs.none}</p>}
      {files.length > 0 && (
        <Table
          label={outputs.title}
          rows={files}
          keyOf={(file) => `${file.slice}/${file.path}`}
          columns={[
            { name: outputs.file, cell: (file) => <span className="font-mono text-sm break-all">{file.path}</span> },
            { name: outputs.slice, align: "right", cell: (file) => file.slice },
            { name: outputs.size, align: "right", cell: (file) => bytes(file.size_bytes) },
            {
              name: text.digest,
              className: "max-md:hidden",
              cell: (file) => (
                <span className="font-mono text-xs text-muted">{file.digest.replace("sha256:", "").slice(0, 16)}</span>
              ),
            },
          ]}
        />
      )}
      <More query={query} />
    </Card>
  );
}

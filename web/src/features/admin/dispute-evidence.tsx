// What happened, for whoever has to decide: the jobs, what ran where, what nodes signed, and what their record is.
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { Card, Fact, Facts } from "@/components/card";
import { Money } from "@/components/money";
import { State, Tag } from "@/components/state";
import { Table } from "@/components/table";
import { When } from "@/components/when";
import { bytes, count, percent } from "@/lib/amounts";
import { duration } from "@/lib/time";
import { admin } from "@/texts/admin";
import { inWords, JobLink, NodeLink, Person } from "./section";

const { dispute: text } = admin;
type Found = Schemas["DisputeFacts"];

export function Jobs({ jobs }: { jobs: Found["jobs"] }) {
  if (jobs.length === 0) return null;
  return (
    <Card title={text.jobs}>
      <ul className="grid gap-3">
        {jobs.map((job) => (
          <li key={job.id}>
            <div className="flex flex-wrap items-center gap-2">
              <JobLink id={job.id}>
                <span className="font-medium">{job.name}</span>
              </JobLink>
              <State of={job.state} />
              {job.verdict && <Tag>{inWords(job.verdict)}</Tag>}
              {job.exit_code != null && <span className="text-muted">{text.exit(job.exit_code)}</span>}
            </div>
            {job.message && <p className="text-muted">{job.message}</p>}
            <details className="mt-1">
              <summary className="cursor-pointer text-sm text-accent">{text.spec}</summary>
              <pre className="mt-2 max-h-80 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs">
                {JSON.stringify(job.spec, null, 2)}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Receipt({ receipt }: { receipt: Found["attempts"][number]["receipt"] }) {
  const { signed } = text;
  if (!receipt) return <span className="text-sm text-muted">{text.noReceipt}</span>;
  const { usage } = receipt;
  const rows: [string, React.ReactNode][] = [
    [signed.reason, inWords(receipt.reason)],
    [signed.detail, receipt.detail],
    [signed.started, <When key="started" at={receipt.started_at} />],
    [signed.finished, <When key="finished" at={receipt.finished_at} />],
    [signed.isolation, receipt.isolation],
    [signed.running, duration(usage.running_seconds)],
    [signed.cpu, duration(usage.cpu_seconds)],
    [signed.memory, bytes(usage.peak_memory_bytes)],
    [signed.log, bytes(receipt.log_bytes)],
    [signed.outputs, count(receipt.outputs.length)],
    [
      signed.logDigest,
      <code key="log" className="text-xs break-all">
        {receipt.log_digest}
      </code>,
    ],
    [
      signed.spec,
      <code key="spec" className="text-xs break-all">
        {receipt.spec_digest}
      </code>,
    ],
    [signed.image, receipt.image_digest && <code className="text-xs break-all">{receipt.image_digest}</code>],
  ];
  return (
    <details>
      <summary className="cursor-pointer text-sm whitespace-nowrap text-accent">{text.showReceipt}</summary>
      <Facts className="mt-2 w-80 text-sm">
        {rows.map(([name, value]) =>
          value ? (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ) : null,
        )}
      </Facts>
    </details>
  );
}

export const Attempts = ({ attempts }: { attempts: Found["attempts"] }) => (
  <Card flush title={text.attempts} about={text.attemptsAbout}>
    <Table
      label={text.attempts}
      rows={attempts}
      keyOf={(attempt) => attempt.attempt_id}
      columns={[
        {
          name: text.attempt,
          cell: ({ job_id, slice, number }) => (
            <Link
              to="/jobs/$jobId"
              params={{ jobId: job_id }}
              search={{ slice: String(slice), attempt: String(number) }}
              className="whitespace-nowrap text-accent hover:underline"
            >
              {text.sliceAttempt(slice, number)}
            </Link>
          ),
        },
        {
          name: text.node,
          className: "whitespace-nowrap",
          cell: ({ node_id, node_name }) => <NodeLink id={node_id}>{node_name}</NodeLink>,
        },
        {
          name: text.end,
          className: "whitespace-nowrap",
          cell: ({ verdict, reason, exit_code }) => (
            <>
              {verdict && <Tag tone={verdict === "ok" ? "good" : "warn"}>{inWords(verdict)}</Tag>}{" "}
              <span className="text-muted">
                {[reason && inWords(reason), exit_code != null && text.exit(exit_code)].filter(Boolean).join(", ")}
              </span>
            </>
          ),
        },
        {
          name: text.ran,
          align: "right",
          className: "whitespace-nowrap",
          cell: ({ billed_seconds }) => duration(billed_seconds),
        },
        { name: text.cost, align: "right", cell: ({ cost_micros }) => <Money micros={cost_micros} /> },
        {
          name: text.hostShare,
          align: "right",
          className: "max-md:hidden",
          cell: ({ host_micros }) => <Money micros={host_micros} />,
        },
        { name: text.receipt, cell: ({ receipt }) => <Receipt receipt={receipt} /> },
      ]}
    />
  </Card>
);

export function DisputedNodes({ nodes }: { nodes: Found["nodes"] }) {
  if (nodes.length === 0) return null;
  return (
    <div className="grid gap-4 md:grid-cols-2">
      {nodes.map(({ node_id, name, owner_id, owner_email, reliability, earnings_micros, refunded_before }) => (
        <Card
          key={node_id}
          title={`${text.node} ${name}`}
          aside={
            <NodeLink id={node_id}>
              <span className="text-accent">{node_id}</span>
            </NodeLink>
          }
        >
          {reliability.notice && <p className="mb-1 text-warn">{reliability.notice}</p>}
          <Facts>
            <Fact name={admin.owner}>
              <Person id={owner_id} name={owner_email} />
            </Fact>
            <Fact name={text.reliability}>
              {percent(reliability.mean)} {reliability.verified && <Tag tone="good">{admin.verified}</Tag>}
            </Fact>
            <Fact name={text.okAttempts}>{count(reliability.ok_attempts)}</Fact>
            <Fact name={text.failures}>{count(reliability.failures_in_a_row)}</Fact>
            <Fact name={text.before}>{count(refunded_before)}</Fact>
            <Fact name={text.earnings}>
              <Money micros={earnings_micros} />
            </Fact>
          </Facts>
        </Card>
      ))}
    </div>
  );
}

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Check, ShieldAlert, ShieldCheck, X } from "lucide-react";
import type { Schemas } from "@/api/client";
import { checksQuery, receiptsQuery, verificationQuery } from "@/api/queries/jobs";
import { flat } from "@/api/queries/pages";
import { Card } from "@/components/card";
import { CommandLine } from "@/components/command-line";
import { Empty } from "@/components/empty";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { State } from "@/components/state";
import { Trouble } from "@/components/trouble";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.receipts;

/** Whether the manifests and receipts of the job are valid, check by check, and the documents themselves. */
export function Receipts({ jobId }: { jobId: string }) {
  const query = useInfiniteQuery(verificationQuery(jobId));
  const checks = useQuery(checksQuery(jobId)).data?.checks ?? [];
  if (!query.data) {
    return (
      <Card title={text.title} flush>
        {query.error ? (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        ) : (
          <SkeletonRows />
        )}
      </Card>
    );
  }
  const pages = query.data.pages;
  const attempts = flat(query.data);
  const holds = pages.every((page) => page.verified);
  const without = pages[0]?.without_receipt ?? [];
  if (attempts.length === 0 && without.length === 0) {
    return (
      <Card>
        <Empty title={text.none} about={text.noneAbout} />
      </Card>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <Card title={text.title}>
        <p className={`flex items-center gap-2 text-lg ${holds ? "text-good" : "text-bad"}`}>
          {holds ? <ShieldCheck size={18} aria-hidden /> : <ShieldAlert size={18} aria-hidden />}
          {holds ? text.holds : text.fails}
        </p>
        {without.length > 0 && <p className="mt-1 text-bad">{text.without(without.join(", "))}</p>}
        <p className="mt-2 mb-3 text-muted text-pretty">{text.about}</p>
        <CommandLine line={text.command(jobId)} />
      </Card>
      <Card title={text.attempts}>
        {attempts.map((attempt) => (
          <Attempt
            key={`${attempt.slice}.${attempt.attempt}.${attempt.node_name}`}
            attempt={attempt}
            open={attempts.length === 1 || !attempt.passed}
          />
        ))}
      </Card>
      <More query={query} />
      {checks.length > 0 && (
        <Card title={text.replicas}>
          <ul>
            {checks.map((check) => (
              <li key={check.id} className="flex flex-wrap items-center gap-2 py-1">
                <State
                  of={check.state}
                  look={check.state === "valid" ? "good" : check.state === "guilty" ? "bad" : "idle"}
                />
                <span>{jobTexts.grid.of(check.slice)}</span>
                <span className="text-muted">{check.detail}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Papers jobId={jobId} />
    </div>
  );
}

const Mark = ({ passed }: { passed: boolean }) =>
  passed ? (
    <Check size={15} aria-label={text.passed} className="mt-1 shrink-0 text-good" />
  ) : (
    <X size={15} aria-label={text.failed} className="mt-1 shrink-0 text-bad" />
  );

const Attempt = ({ attempt, open }: { attempt: Schemas["VerifiedAttempt"]; open: boolean }) => (
  <details open={open} className="border-t border-line py-2 first:border-0">
    <summary className="flex cursor-pointer gap-2">
      <Mark passed={attempt.passed} /> {text.attempt(attempt.slice, attempt.attempt, attempt.node_name)}
    </summary>
    <ul className="mt-1 pl-6">
      {attempt.checks.map((check) => (
        <li key={check.name} className="flex gap-2 py-0.5">
          <Mark passed={check.passed} />
          <span className="min-w-0 break-words">
            {check.title}{" "}
            {!check.title.toLowerCase().startsWith(check.detail.toLowerCase()) && (
              <span className="text-sm text-muted">{check.detail}</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  </details>
);

function Papers({ jobId }: { jobId: string }) {
  const query = useInfiniteQuery(receiptsQuery(jobId));
  if (!query.data) return null;
  return (
    <Card title={text.papers}>
      {flat(query.data).map((papers) => (
        <details key={papers.attempt_id} className="border-t border-line py-2 first:border-0">
          <summary className="cursor-pointer">{text.attempt(papers.slice, papers.attempt, papers.node.name)}</summary>
          <Paper title={text.order} paper={papers.manifest} />
          <Paper title={text.receipt} paper={papers.receipt} />
        </details>
      ))}
      <More query={query} />
    </Card>
  );
}

const Paper = ({ title, paper }: { title: string; paper: Schemas["Signed"] }) => (
  <div className="mt-2">
    <p className="text-sm text-muted">
      {title} <code className="font-mono text-xs">{paper.key_id}</code>
    </p>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too */}
    <pre tabIndex={0} className="mt-1 max-h-64 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs">
      {readable(paper.body)}
    </pre>
    <p className="mt-1 font-mono text-xs break-all text-muted">{paper.signature}</p>
  </div>
);

function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

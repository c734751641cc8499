import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Schemas } from "@/api/client";
import { useLive } from "@/api/hooks";
import { live } from "@/api/live";
import { whyQuery } from "@/api/queries/jobs";
import { buttonClass } from "@/components/button";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Tag } from "@/components/state";
import { count } from "@/lib/amounts";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.why;

/** Why it has no node, what each rule removed, and what would help. The hub says when the answer changes. */
export function Why({ jobId }: { jobId: string }) {
  const query = useQuery(whyQuery(jobId));
  const queries = useQueryClient();
  useEffect(
    () =>
      live.subscribe(
        `watch ${jobId}`,
        { type: "watch", job_id: jobId, from_slice: 0, slice_limit: 1, why: true },
        { type: "unwatch", job_id: jobId },
      ),
    [jobId],
  );
  useLive("why", (message) => {
    if (message.job_id === jobId) void queries.invalidateQueries({ queryKey: ["job", jobId, "why"] });
  });
  return (
    <Card title={text.title}>
      <Loaded query={query}>
        {(why) => (
          <>
            <p className="text-lg">{why.summary}</p>
            {why.waiting.map((slices) => (
              <Waiting key={slices.slices[0] ?? 0} jobId={jobId} why={slices} several={why.waiting.length > 1} />
            ))}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Waiting({ jobId, why, several }: { jobId: string; why: Schemas["WhySlice"]; several: boolean }) {
  return (
    <div className="mt-4 border-t border-line pt-4 first:border-0">
      {several && (
        <p className="mb-2 font-medium">
          {text.slices(why.slices.length)}. {why.summary}
        </p>
      )}
      {why.relaxations.length > 0 && (
        <>
          <h3 className="text-sm font-medium text-muted">{text.relax}</h3>
          <ul className="mt-2 flex flex-col gap-2">
            {why.relaxations.map((relaxation) => (
              <li
                key={relaxation.field}
                className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-sunken px-3 py-2"
              >
                <span className="min-w-48 flex-1">
                  {relaxation.words} {relaxation.free_now && <Tag tone="good">{text.freeNow}</Tag>}
                </span>
                <Link
                  to="/submit"
                  search={{ from: jobId, relax: relaxation.field }}
                  className={buttonClass({ size: "sm" })}
                >
                  {text.change}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      <h3 className="mt-5 text-sm font-medium text-muted">{text.removed}</h3>
      <table className="mt-1 w-full text-left">
        <tbody>
          <tr className="border-b border-line">
            <td className="w-14 py-1.5 pr-3 text-right font-medium">{count(why.nodes_total)}</td>
            <td>{text.nodes}</td>
          </tr>
          {why.gates
            .filter((gate) => gate.removed > 0)
            .map((gate) => (
              <tr key={gate.gate} className="border-b border-line">
                <td className="py-1.5 pr-3 text-right text-warn">−{count(gate.removed)}</td>
                <td>{gate.detail || gate.gate}</td>
              </tr>
            ))}
          <tr>
            <td className="py-1.5 pr-3 text-right font-medium">{count(why.feasible)}</td>
            <td>
              {text.left}, {count(why.free)} {text.free}
            </td>
          </tr>
        </tbody>
      </table>
      {why.position > 0 && <p className="mt-2 text-sm text-muted">{text.position(why.position)}</p>}
    </div>
  );
}

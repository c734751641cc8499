import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { sharesQuery } from "@/api/queries/jobs";
import { Button } from "@/components/button";
import { CopyButton } from "@/components/command-line";
import { Field, Form, Select, Switch } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { toast, toastError } from "@/components/toasts";
import { When } from "@/components/when";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.share;

/** Makes links to a job, and lists those that exist. A new link is shown once: it is gone with the dialog. */
export default function Share({ jobId }: { jobId: string }) {
  const [link, setLink] = useState<string | null>(null);
  return (
    <>
      {link ? <NewLink link={link} /> : <NewShare jobId={jobId} onMade={setLink} />}
      <Links jobId={jobId} />
    </>
  );
}

const NewLink = ({ link }: { link: string }) => (
  <div role="status">
    <div className="flex items-center rounded-md border border-line bg-sunken pl-3 font-mono text-sm">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long address scrolls, with the keyboard too */}
      <code tabIndex={0} className="flex-1 overflow-x-auto py-2 whitespace-nowrap">
        {link}
      </code>
      <CopyButton text={link} label={text.copy} className="m-1" />
    </div>
    <p className="mt-1.5 text-sm text-muted">{text.once}</p>
  </div>
);

function NewShare({ jobId, onMade }: { jobId: string; onMade: (link: string) => void }) {
  const queries = useQueryClient();
  const [logs, setLogs] = useState(false);
  const [outputs, setOutputs] = useState(false);
  return (
    <Form
      onSubmit={async ({ expires_in_days: days }) => {
        const body = { with_logs: logs, with_outputs: outputs, expires_in_days: days ? Number(days) : null };
        const made = await ask(api.POST("/api/v1/jobs/{job_id}/shares", { params: { path: { job_id: jobId } }, body }));
        void queries.invalidateQueries({ queryKey: ["job", jobId, "shares"] });
        onMade(`${location.origin}/shared/${made.token}`);
      }}
    >
      {(pending) => (
        <>
          <Switch label={text.logs} about={text.logsAbout} checked={logs} onChange={setLogs} />
          <Switch label={text.outputs} checked={outputs} onChange={setOutputs} />
          <Field name="expires_in_days" label={text.days}>
            <Select name="expires_in_days" defaultValue="7">
              {text.dayChoices.map(([days, name]) => (
                <option key={days} value={days}>
                  {name}
                </option>
              ))}
            </Select>
          </Field>
          <Button type="submit" look="primary" pending={pending}>
            {text.create}
          </Button>
        </>
      )}
    </Form>
  );
}

function Links({ jobId }: { jobId: string }) {
  const query = useQuery(sharesQuery(jobId));
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: (share_id: string) =>
      ask(api.DELETE("/api/v1/jobs/{job_id}/shares/{share_id}", { params: { path: { job_id: jobId, share_id } } })),
    onSuccess: () => {
      toast({ title: text.revoked });
      void queries.invalidateQueries({ queryKey: ["job", jobId, "shares"] });
    },
    onError: toastError,
  });
  return (
    <section className="mt-6 border-t border-line pt-4">
      <h3 className="font-medium">{text.existing}</h3>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="mt-1 text-muted">{text.none}</p>
          ) : (
            <ul className="mt-1 divide-y divide-line">
              {items.map((share) => (
                <li key={share.id} className="flex items-center justify-between gap-3 py-2">
                  <div className="min-w-0">
                    <p>{text.shows(share.with_logs, share.with_outputs)}</p>
                    <p className="text-sm text-muted">
                      <When at={share.created_at} ago />,{" "}
                      {share.expires_at ? (
                        <>
                          {text.until} <When at={share.expires_at} />
                        </>
                      ) : (
                        text.forever
                      )}
                    </p>
                  </div>
                  <Button size="sm" look="danger" pending={revoke.isPending} onClick={() => revoke.mutate(share.id)}>
                    {text.revoke}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Copy, MoreHorizontal, RotateCcw, Share2, Square } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { Button, buttonClass } from "@/components/button";
import { Confirm, Dialog } from "@/components/dialog";
import { Menu, MenuItem, MenuLine } from "@/components/menu";
import { SkeletonRows } from "@/components/skeleton";
import { toast } from "@/components/toasts";
import { Trouble } from "@/components/trouble";
import { patiently } from "@/lib/patiently";
import { common } from "@/texts/common";
import { jobTexts } from "@/texts/jobs";

// Forms come when somebody opens them.
const Share = lazy(patiently(() => import("./share")));
const DisputeForm = lazy(patiently(() => import("./dispute-form")));

type Job = Schemas["JobView"];
type Name = keyof Schemas["JobActions"];
const text = jobTexts.actions;

/** What the API allows are buttons; what it does not is in the menu, with its reason. */
export function JobActions({ job }: { job: Job }) {
  const go = useNavigate();
  const queries = useQueryClient();
  const [open, setOpen] = useState<"share" | "dispute" | "remove" | null>(null);
  const { actions } = job;
  if (!actions) return null;
  const params = { path: { job_id: job.id } };
  const refused = (["cancel", "retry", "clone", "share", "verify", "dispute", "remove"] as Name[]).filter(
    (name) => actions[name] && !actions[name].allowed,
  );
  const changed = () => {
    void queries.invalidateQueries({ queryKey: ["job", job.id] });
    void queries.invalidateQueries({ queryKey: ["jobs"] });
  };
  const cancel = async () => {
    await ask(api.POST("/api/v1/jobs/{job_id}/cancel", { params }));
    changed();
  };
  const retry = async () => {
    const again = await ask(
      api.POST("/api/v1/jobs/{job_id}/retry", {
        params: { ...params, header: { "Idempotency-Key": idempotencyKey() } },
      }),
    );
    void go({ to: "/jobs/$jobId", params: { jobId: again.id } });
  };
  const close = () => setOpen(null);
  return (
    <>
      {actions.retry.allowed && (
        <Confirm
          trigger={
            <Button>
              <RotateCcw size={14} aria-hidden /> {text.retry}
            </Button>
          }
          title={text.retryTitle(job.name)}
          about={text.retryAbout}
          action={text.retryGo}
          danger={false}
          run={retry}
        />
      )}
      {actions.clone.allowed && (
        <Link to="/submit" search={{ from: job.id }} className={buttonClass()}>
          <Copy size={14} aria-hidden /> {text.clone}
        </Link>
      )}
      {actions.share.allowed && (
        <Button onClick={() => setOpen("share")}>
          <Share2 size={14} aria-hidden /> {text.share}
        </Button>
      )}
      {actions.cancel.allowed && (
        <Confirm
          trigger={
            <Button look="danger">
              <Square size={13} aria-hidden /> {text.cancel}
            </Button>
          }
          title={text.cancelTitle(job.name)}
          about={text.cancelAbout}
          action={text.cancelGo}
          run={cancel}
        />
      )}
      <Menu
        trigger={
          <Button size="icon" aria-label={text.more}>
            <MoreHorizontal size={16} aria-hidden />
          </Button>
        }
      >
        {actions.verify.allowed && (
          <MenuItem link={<Link to="." search={(before: object) => ({ ...before, tab: "receipts" })} />}>
            {text.verify}
          </MenuItem>
        )}
        {actions.dispute?.allowed && <MenuItem onClick={() => setOpen("dispute")}>{text.dispute}</MenuItem>}
        {actions.remove.allowed && (
          <MenuItem danger onClick={() => setOpen("remove")}>
            {text.remove}
          </MenuItem>
        )}
        {refused.length > 0 && refused.length < 6 && <MenuLine />}
        {refused.map((name) => (
          <MenuItem key={name} disabled>
            <span className="max-w-72">
              {text[name]}
              <span className="block text-sm text-pretty">{actions[name]?.reason}</span>
            </span>
          </MenuItem>
        ))}
      </Menu>
      <Dialog title={jobTexts.share.title} about={jobTexts.share.about} open={open === "share"} onOpenChange={close}>
        <Suspense fallback={<SkeletonRows rows={5} />}>
          <Share jobId={job.id} />
        </Suspense>
      </Dialog>
      <Dialog title={text.dispute} about={text.disputeAbout} open={open === "dispute"} onOpenChange={close}>
        <Suspense fallback={<SkeletonRows rows={3} />}>
          <DisputeForm
            jobId={job.id}
            onDone={() => {
              changed();
              close();
            }}
          />
        </Suspense>
      </Dialog>
      <Dialog title={text.removeTitle(job.name)} about={text.removeAbout} open={open === "remove"} onOpenChange={close}>
        <Remove jobId={job.id} close={close} />
      </Dialog>
    </>
  );
}

function Remove({ jobId, close }: { jobId: string; close: () => void }) {
  const go = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/v1/jobs/{job_id}", { params: { path: { job_id: jobId } } })),
    onSuccess: async () => {
      await go({ to: "/jobs" });
      queries.removeQueries({ queryKey: ["job", jobId] });
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      toast({ title: text.removed });
    },
  });
  return (
    <>
      {remove.error && <Trouble error={remove.error} compact />}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={close}>{common.cancel}</Button>
        <Button look="danger" pending={remove.isPending} onClick={() => remove.mutate()}>
          {text.removeGo}
        </Button>
      </div>
    </>
  );
}

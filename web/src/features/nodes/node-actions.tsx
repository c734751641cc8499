import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { api, ask } from "@/api/client";
import type { NodeView } from "@/api/queries/nodes";
import { Button } from "@/components/button";
import { CountrySelect } from "@/components/country-select";
import { Confirm, Dialog } from "@/components/dialog";
import { Field, Form, Input } from "@/components/form";
import { Menu, MenuItem, MenuLine, MenuNote } from "@/components/menu";
import { toast, toastError } from "@/components/toasts";
import { common } from "@/texts/common";
import { nodes as texts } from "@/texts/nodes";

const t = texts.actions;
type Verb = "pause" | "unpause" | "drain" | "resume" | "ban";
const DONE: Record<Verb, string> = {
  pause: t.paused,
  unpause: t.unpaused,
  drain: t.drained,
  resume: t.resumed,
  ban: t.removed,
};

function useNodeVerb(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (verb: Verb) => {
      const params = { path: { node_id: id } };
      if (verb === "pause") return ask<unknown>(api.POST("/api/v1/nodes/{node_id}/pause", { params, body: {} }));
      return ask<unknown>(api.POST(`/api/v1/nodes/{node_id}/${verb}`, { params }));
    },
    onSuccess: (_, verb) => {
      toast({ title: DONE[verb], tone: "good" });
      void queries.invalidateQueries({ queryKey: ["node", id] });
      void queries.invalidateQueries({ queryKey: ["nodes"] });
    },
  });
}

/** What the API allows now as buttons; the rest in the menu, with its reason. */
export function NodeActions({ node }: { node: NodeView }) {
  const verb = useNodeVerb(node.id);
  const [editing, setEditing] = useState(false);
  const { pause, unpause, drain, resume, remove, edit, rotate_key } = node.actions;
  const go = (name: Verb) => verb.mutate(name, { onError: toastError });
  const refused = [
    ...(pause.allowed || unpause.allowed ? [] : [[t.pause, pause.reason] as const]),
    ...(drain.allowed || resume.allowed ? [] : [[t.drain, drain.reason] as const]),
    ...(remove.allowed ? [] : [[t.remove, remove.reason] as const]),
    ...(rotate_key.allowed ? [] : [[t.rotate, rotate_key.reason] as const]),
  ];
  return (
    <>
      {pause.allowed && (
        <Confirm
          trigger={<Button>{t.pause}</Button>}
          title={t.pauseTitle}
          about={t.pauseAbout}
          action={t.pause}
          danger={false}
          run={() => verb.mutateAsync("pause")}
        />
      )}
      {unpause.allowed && <Button onClick={() => go("unpause")}>{t.unpause}</Button>}
      {drain.allowed && <Button onClick={() => go("drain")}>{t.drain}</Button>}
      {resume.allowed && (
        <Button look="primary" onClick={() => go("resume")}>
          {t.resume}
        </Button>
      )}
      {remove.allowed && (
        <Confirm
          trigger={<Button look="danger">{t.remove}</Button>}
          title={t.removeTitle(node.name)}
          about={t.removeAbout}
          action={t.remove}
          run={() => verb.mutateAsync("ban")}
        />
      )}
      <Menu
        trigger={
          <Button size="icon" aria-label={texts.node.more}>
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
      >
        <MenuItem onClick={() => setEditing(true)} disabled={!edit.allowed}>
          {t.edit}
        </MenuItem>
        {refused.length > 0 && <MenuLine />}
        {refused.map(([name, reason]) => (
          <div key={name} className="max-w-72">
            <MenuItem disabled>{name}</MenuItem>
            <div className="-mt-1">
              <MenuNote>{reason}</MenuNote>
            </div>
          </div>
        ))}
      </Menu>
      <EditNode node={node} open={editing} setOpen={setEditing} />
    </>
  );
}

function EditNode({ node, open, setOpen }: { node: NodeView; open: boolean; setOpen: (open: boolean) => void }) {
  const queries = useQueryClient();
  return (
    <Dialog open={open} onOpenChange={setOpen} title={t.editTitle}>
      <Form
        onSubmit={async ({ name = "", country = "", tags = "" }) => {
          const body = {
            name,
            country: country || null,
            tags: tags.split(/[\s,]+/).filter(Boolean),
          };
          const changed = await ask(
            api.PATCH("/api/v1/nodes/{node_id}", { params: { path: { node_id: node.id } }, body }),
          );
          queries.setQueryData(["node", node.id], changed);
          void queries.invalidateQueries({ queryKey: ["nodes"] });
          toast({ title: common.saved, tone: "good" });
          setOpen(false);
        }}
      >
        {(pending) => (
          <>
            <Field name="name" label={t.name}>
              <Input defaultValue={node.name} required />
            </Field>
            <Field name="country" label={t.country} optional>
              <CountrySelect {...(node.country ? { defaultValue: node.country } : {})} none={t.countryNone} />
            </Field>
            <Field name="tags" label={t.tags} hint={t.tagsHint} optional>
              <Input defaultValue={node.tags.join(", ")} />
            </Field>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setOpen(false)}>{common.cancel}</Button>
              <Button type="submit" look="primary" pending={pending}>
                {common.save}
              </Button>
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}

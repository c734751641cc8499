import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { policyQuery } from "@/api/queries/nodes";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { Field, Form, Input, Select } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { Prose } from "@/components/prose";
import { State } from "@/components/state";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { common } from "@/texts/common";
import { nodes as texts } from "@/texts/nodes";

const t = texts.policy;
type PolicyView = Schemas["NodePolicyView"];
type Setting = Schemas["PolicySettingView"];
type OwnerRequest = Schemas["OwnerRequestView"];

const shown = (value: Setting["value"]): string =>
  typeof value === "boolean" ? (value ? t.yes : t.no) : Array.isArray(value) ? value.join(", ") || "–" : String(value);

/** What the owner allows on a machine: sentences, the few rules that can be changed here, and what the agent answered. */
export function Policy({ nodeId, edit }: { nodeId: string; edit: Schemas["ActionView"] }) {
  const query = useQuery(policyQuery(nodeId));
  return (
    <Card title={t.title}>
      <Loaded query={query}>
        {(policy) => {
          const here = policy.settings.filter((setting) => setting.edit.allowed);
          const there = policy.settings.filter((setting) => !setting.edit.allowed);
          return (
            <div className="flex flex-col gap-3">
              {policy.settings.length === 0 && <p className="text-muted">{t.never}</p>}
              {policy.problem && (
                <p className="text-sm text-bad text-pretty">
                  {t.problem} {policy.problem}
                </p>
              )}
              {policy.paused && (
                <p className="flex flex-wrap items-center gap-2">
                  <State of="paused">{t.paused[policy.paused]}</State>
                  {policy.paused_until && (
                    <span className="text-sm text-muted">
                      {t.until} <When at={policy.paused_until} />
                    </span>
                  )}
                </p>
              )}
              <Asked
                request={policy.pause_request}
                name={policy.pause_request?.pause ? t.pauseAsked : t.unpauseAsked}
              />
              <Asked request={policy.policy_request} name={t.asked} />
              <Settings settings={here} />
              {here.length > 0 && edit.allowed && <EditPolicy nodeId={nodeId} settings={here} />}
              {!edit.allowed && policy.settings.length > 0 && <p className="text-sm text-muted">{edit.reason}</p>}
              {there.length > 0 && (
                <details>
                  <summary className="cursor-pointer text-sm text-muted hover:text-text">
                    {t.there(there.length)}
                  </summary>
                  <div className="mt-2">
                    <Settings settings={there} />
                  </div>
                </details>
              )}
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}

const Settings = ({ settings }: { settings: Setting[] }) => (
  <dl className="divide-y divide-line">
    {settings.map((setting) => (
      <div key={setting.key} className="flex items-start justify-between gap-4 py-2">
        <dt className="min-w-0 text-sm text-pretty text-muted" title={setting.edit.reason ?? setting.key}>
          <Prose>{setting.meaning}</Prose>
        </dt>
        <dd className="max-w-2/5 shrink-0 text-right font-medium break-words">{shown(setting.value)}</dd>
      </div>
    ))}
  </dl>
);

/** What the agent was asked, while it matters: until it has answered, and why it refused. */
function Asked({ request, name }: { request: OwnerRequest | null; name: string }) {
  if (!request || request.state === "applied") return null;
  return (
    <div role="status" className="rounded-md border border-line bg-sunken/50 p-3 text-sm">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span>
          {name} <When at={request.requested_at} ago />
        </span>
        <State of={request.state} look={request.state === "refused" ? "bad" : "warn"} />
      </div>
      {Object.entries(request.changes).map(([key, value]) => (
        <p key={key} className="mt-1 font-mono text-muted">
          {key}: {shown(value)}
        </p>
      ))}
      {request.reason && <p className="mt-1 text-bad">{request.reason}</p>}
    </div>
  );
}

type Edit = Schemas["PolicyEdit"];
const field = (key: string) => key.slice(key.lastIndexOf(".") + 1) as keyof Edit;

function EditPolicy({ nodeId, settings }: { nodeId: string; settings: Setting[] }) {
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  const send = async (values: Record<string, string>) => {
    const body: Record<string, string | boolean> = {};
    for (const { key, value } of settings) {
      const given = values[field(key)];
      if (given === undefined) continue;
      const next = typeof value === "boolean" ? given === "true" : given.trim();
      if (next !== value) body[field(key)] = next;
    }
    if (Object.keys(body).length === 0) throw new Error(t.unchanged);
    const path = { node_id: nodeId };
    const policy: PolicyView = await ask(
      api.PATCH("/api/v1/nodes/{node_id}/policy", { params: { path }, body: body as Edit }),
    );
    queries.setQueryData(["node", nodeId, "policy"], policy);
    toast({ title: t.asked, tone: "good" });
    setOpen(false);
  };
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      trigger={<Button className="w-fit">{t.edit}</Button>}
      title={t.editTitle}
      about={t.editAbout}
    >
      <Form onSubmit={send}>
        {(pending) => (
          <>
            {settings.map(({ key, meaning, value }) => (
              <Field key={key} name={field(key)} label={words(key)} hint={<Prose>{meaning}</Prose>}>
                {typeof value === "boolean" ? (
                  <Select defaultValue={String(value)}>
                    <option value="true">{t.yes}</option>
                    <option value="false">{t.no}</option>
                  </Select>
                ) : (
                  <Input defaultValue={String(value)} />
                )}
              </Field>
            ))}
            <div className="flex justify-end gap-2">
              <Button onClick={() => setOpen(false)}>{common.cancel}</Button>
              <Button type="submit" look="primary" pending={pending}>
                {t.send}
              </Button>
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}
const words = (key: string) => {
  const name = field(key).replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
};

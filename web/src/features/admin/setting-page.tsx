import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";
import { settingHistoryQuery, settingPreviewQuery, settingQuery } from "@/api/queries/admin";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { Field, Form, Input, Select } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { Skeleton } from "@/components/skeleton";
import { Tag } from "@/components/state";
import { Table } from "@/components/table";
import { toast } from "@/components/toasts";
import { Trouble } from "@/components/trouble";
import { When } from "@/components/when";
import { admin } from "@/texts/admin";
import { adminHub } from "@/texts/admin-hub";
import { Act, type ActSpec } from "./act";
import { inWords, Person, Section } from "./section";
import { readValue, type SettingValue, shownValue } from "./setting-value";

const { setting: text, settings } = adminHub;
type Setting = Schemas["SettingView"];
const asTyped = (value: SettingValue) => (value === null ? "" : String(value));
const TYPED_MS = 300;

function Control({ setting, onChange, value }: { setting: Setting; value: string; onChange: (typed: string) => void }) {
  const choices =
    setting.type === "boolean"
      ? [
          ["true", settings.on],
          ["false", settings.off],
        ]
      : setting.choices.map((choice) => [choice, inWords(choice)]);
  if (choices.length > 0)
    return (
      <Select value={value} onChange={(event) => onChange(event.target.value)}>
        {choices.map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </Select>
    );
  return (
    <Input
      value={value}
      inputMode="decimal"
      autoComplete="off"
      required={!setting.optional}
      onValueChange={(typed) => onChange(typed)}
    />
  );
}

function Effect({ setting, typed }: { setting: Setting; typed: string }) {
  const [late, setLate] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setLate(typed), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const isOther = late !== asTyped(setting.value) && !(late.trim() === "" && !setting.optional);
  const query = useQuery({ ...settingPreviewQuery(setting.name, readValue(late, setting)), enabled: isOther });
  if (!isOther) return <p className="text-muted">{text.effectAbout}</p>;
  if (query.error) return <Trouble error={query.error} compact />;
  if (!query.data) return <Skeleton className="h-16" />;
  const { message, lines } = query.data;
  return (
    <div aria-live="polite">
      <p>{message}</p>
      {lines.length > 0 && (
        <div className="-mx-4 mt-3 -mb-4">
          <Table
            label={text.effect}
            rows={lines}
            keyOf={({ label }) => label}
            columns={[
              { name: text.example, cell: ({ label }) => label },
              { name: text.before, align: "right", className: "whitespace-nowrap", cell: ({ before }) => before },
              {
                name: text.after,
                align: "right",
                className: "whitespace-nowrap",
                cell: ({ after }) => <strong className="font-medium">{after}</strong>,
              },
            ]}
          />
        </div>
      )}
    </div>
  );
}

function Change({ setting }: { setting: Setting }) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState(asTyped(setting.value));
  const [looked, setLooked] = useState(setting.version);
  // Another admin changed it, or this one did: what is shown is what is in force.
  if (looked !== setting.version) {
    setLooked(setting.version);
    setTyped(asTyped(setting.value));
  }
  const save = async (reason: string) => {
    const { name, version } = setting;
    const body = { value: readValue(typed, setting), reason, version };
    try {
      await ask(api.PUT("/api/v1/admin/settings/{name}", { params: { path: { name } }, body }));
    } catch (failure) {
      if (failure instanceof ApiError && failure.status === 409) {
        void queries.invalidateQueries({ queryKey: ["admin", "setting", name] });
        toast({ title: failure.message, about: text.conflict, tone: "warn" });
      }
      throw failure;
    }
    toast({ title: text.saved });
    await queries.invalidateQueries({ queryKey: ["admin"] });
  };
  return (
    <div className="grid items-start gap-4 md:grid-cols-2">
      <Card title={text.change}>
        <Form key={setting.version} onSubmit={({ reason = "" }) => save(reason)}>
          {(pending) => (
            <>
              <Field
                name="value"
                label={setting.unit ? `${text.value} (${setting.unit})` : text.value}
                hint={setting.optional ? text.empty : undefined}
              >
                <Control setting={setting} value={typed} onChange={setTyped} />
              </Field>
              <Field name="reason" label={admin.reason} hint={text.reasonHint}>
                <Input required autoComplete="off" />
              </Field>
              <div>
                <Button type="submit" look="primary" pending={pending} disabled={typed === asTyped(setting.value)}>
                  {text.save}
                </Button>
              </div>
            </>
          )}
        </Form>
      </Card>
      <Card title={text.effect}>
        <Effect setting={setting} typed={typed} />
      </Card>
    </div>
  );
}

function History({ setting }: { setting: Setting }) {
  const query = useQuery(settingHistoryQuery(setting.name));
  const shown = (value: SettingValue) => shownValue(value, setting);
  return (
    <Card flush title={text.history}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="border-t border-line p-4 text-muted">{text.noHistory}</p>
          ) : (
            <ol className="divide-y divide-line border-t border-line">
              {items.map((change) => (
                <li key={change.version} className="px-4 py-3">
                  <div className="flex flex-wrap items-baseline justify-between gap-x-4">
                    <p className="font-medium">
                      {change.reset ? text.wasReset : text.changed(shown(change.before), shown(change.value))}
                    </p>
                    <p className="text-sm text-muted">
                      <When at={change.changed_at} ago /> {text.by}{" "}
                      <Person id={change.changed_by} name={change.changed_by_email} />
                    </p>
                  </div>
                  <p className="text-muted break-words">{change.reason}</p>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}

const reset = ({ name, version, source }: Setting): ActSpec | null =>
  source !== "stored"
    ? null
    : {
        name: text.reset,
        danger: true,
        title: text.resetTitle,
        about: text.resetAbout,
        fields: [{ name: "reason", label: admin.reason, hint: text.reasonHint }],
        done: text.resetDone,
        run: ({ reason = "" }) =>
          ask(
            api.POST("/api/v1/admin/settings/{name}/reset", { params: { path: { name } }, body: { reason, version } }),
          ),
      };

export default function SettingPage() {
  const { name = "" } = useParams({ strict: false });
  const query = useQuery(settingQuery(name));
  const act = query.data && reset(query.data);
  return (
    <Section
      title={name}
      back={{ to: "/admin/settings", name: text.back }}
      beside={
        query.data && (
          <Tag tone={query.data.source === "stored" ? "live" : undefined}>{settings.sources[query.data.source]}</Tag>
        )
      }
      about={query.data?.description}
      actions={act && <Act act={act} size="md" />}
    >
      <Loaded query={query} skeleton={<Skeleton className="h-80 rounded-lg" />}>
        {(setting) => (
          <>
            <Card>
              <Facts>
                <Fact name={text.inForce}>
                  <strong className="font-medium">{shownValue(setting.value, setting)}</strong>
                </Fact>
                <Fact name={text.afterReset}>{shownValue(setting.default, setting)}</Fact>
                <Fact name={text.variable}>
                  <code className="text-sm">{setting.variable}</code>
                </Fact>
                {(setting.minimum != null || setting.maximum != null) && (
                  <Fact name={text.range}>
                    {[
                      setting.minimum != null && text.from(shownValue(setting.minimum, setting)),
                      setting.maximum != null && text.to(shownValue(setting.maximum, setting)),
                    ]
                      .filter(Boolean)
                      .join(" ")}
                  </Fact>
                )}
              </Facts>
            </Card>
            <Change setting={setting} />
            <History setting={setting} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

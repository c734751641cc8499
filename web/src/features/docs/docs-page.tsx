import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { memo, useDeferredValue, useEffect, useMemo, useState } from "react";
import { Card } from "@/components/card";
import { Empty } from "@/components/empty";
import { SearchField } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Page } from "@/components/page";
import { Prose } from "@/components/prose";
import { Tag } from "@/components/state";
import { cn } from "@/lib/cn";
import { docs as text } from "@/texts/docs";
import { type Answer, type Document, documentQuery, type Listed, nameOf, routesOf, type Shape } from "./document";
import { FieldTable, Words } from "./shapes";

const METHOD: Record<string, string> = {
  get: "text-live",
  post: "text-good",
  put: "text-warn",
  patch: "text-warn",
  delete: "text-bad",
};
// The first sentence says more than a name that was made from the handler's.
const firstSentence = (about: string) => (about.split(/(?<=[.:])\s/)[0] ?? "").replace(/[.:]$/, "");
const SUMMARY = "flex cursor-pointer flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2.5 hover:bg-sunken/60";

/** One that is opened by its address, and drawn only once it is open. */
function Opening({ id, summary, children }: { id: string; summary: React.ReactNode; children: () => React.ReactNode }) {
  const isNamed = useRouterState({ select: (state) => decodeURIComponent(state.location.hash) === id });
  const [open, setOpen] = useState(isNamed);
  useEffect(() => {
    if (!isNamed) return;
    setOpen(true);
    document.getElementById(id)?.scrollIntoView({ block: "start" });
  }, [isNamed, id]);
  return (
    <details id={id} open={open} onToggle={(event) => setOpen(event.currentTarget.open)} className="scroll-mt-16">
      <summary className={SUMMARY}>{summary}</summary>
      {open && <div className="flex flex-col gap-3 border-t border-line bg-page px-4 py-3">{children()}</div>}
    </details>
  );
}

function Answers({ responses, shared }: { responses: Record<string, Answer>; shared: Record<string, Answer> }) {
  return (
    <div>
      <h4 className="font-medium">{text.answers}</h4>
      <ul className="mt-1 flex flex-col gap-1 text-sm">
        {Object.entries(responses).map(([code, told]) => {
          const answer = told.$ref ? (shared[nameOf(told.$ref)] ?? told) : told;
          const bodies = answer["x-codes"] ? [] : Object.entries(answer.content ?? {});
          return (
            <li key={code} className="flex gap-3">
              <code className="w-8 shrink-0">{code}</code>
              <span className="text-muted">
                {bodies.length === 0 && <Prose>{answer.description ?? ""}</Prose>}
                {bodies.map(([type, { schema }]) => (
                  <span key={type}>
                    <Words shape={schema} /> {text.as(type)}
                  </span>
                ))}
              </span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const RouteRow = memo(function RouteRow({ listed, shared }: { listed: Listed; shared: Record<string, Answer> }) {
  const { id, method, path, route } = listed;
  const about = route.description ?? route.summary ?? "";
  const summary = (
    <>
      <span className={cn("w-14 shrink-0 text-xs font-semibold uppercase", METHOD[method])}>{method}</span>
      <code className="order-1 min-w-0 basis-full text-sm font-medium wrap-anywhere md:order-none md:basis-auto">
        {path}
      </code>
      <span className="order-last min-w-0 basis-full text-sm text-muted md:order-none md:flex-1 md:basis-0">
        <Prose>{firstSentence(about)}</Prose>
      </span>
      <Tag>{route["x-scope"] ?? route["x-visible"]}</Tag>
    </>
  );
  return (
    <Opening id={id} summary={summary}>
      {() => (
        <>
          {about && (
            <p className="max-w-3xl">
              <Prose>{about}</Prose>
            </p>
          )}
          <p className="text-sm text-muted">
            {text.visible[route["x-visible"] ?? ""]}
            {route["x-scope"] && (
              <>
                {" "}
                {text.scope} <code>{route["x-scope"]}</code>.
              </>
            )}
          </p>
          {route.parameters && route.parameters.length > 0 && (
            <FieldTable
              caption={text.parameters}
              rows={route.parameters.map(({ name, in: place, required, schema, description }) => ({
                name,
                place,
                required,
                shape: schema,
                about: description,
              }))}
            />
          )}
          {route.requestBody && (
            <div>
              <h4 className="font-medium">{text.body}</h4>
              {Object.entries(route.requestBody.content).map(([type, { schema }]) => (
                <p key={type} className="text-sm">
                  <Words shape={schema} /> <span className="text-muted">{text.as(type)}</span>
                </p>
              ))}
            </div>
          )}
          <Answers responses={route.responses ?? {}} shared={shared} />
        </>
      )}
    </Opening>
  );
});

const SchemaRow = memo(function SchemaRow({ name, schema }: { name: string; schema: Shape }) {
  const fields = Object.entries(schema.properties ?? {});
  return (
    <Opening id={`schema-${name}`} summary={<code className="text-sm font-medium">{name}</code>}>
      {() => (
        <>
          {schema.description && (
            <p className="max-w-3xl">
              <Prose>{schema.description}</Prose>
            </p>
          )}
          {fields.length === 0 ? (
            <p className="text-sm">
              <Words shape={schema} />
            </p>
          ) : (
            <FieldTable
              caption={text.fields}
              rows={fields.map(([field, shape]) => ({
                name: field,
                required: schema.required?.includes(field),
                shape,
                about: shape.description,
              }))}
            />
          )}
        </>
      )}
    </Opening>
  );
});

function Reference({ document, wanted }: { document: Document; wanted: string }) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (searched: string) => words.every((word) => searched.includes(word));
  const tags = useMemo(() => routesOf(document), [document]);
  const schemas = useMemo(
    () => Object.entries(document.components.schemas).sort(([a], [b]) => a.localeCompare(b)),
    [document],
  );
  const shared = document.components.responses ?? {};
  const found = [...tags]
    .map(([tag, routes]) => [tag, routes.filter((listed) => fits(listed.searched))] as const)
    .filter(([, routes]) => routes.length > 0);
  const foundSchemas = schemas.filter(([name, { description }]) => fits(`${name} ${description ?? ""}`.toLowerCase()));
  if (found.length + foundSchemas.length === 0) return <Empty title={text.nothing} />;
  return (
    <div className="flex flex-col gap-6">
      {found.map(([tag, routes]) => (
        <Card key={tag} title={tag.charAt(0).toUpperCase() + tag.slice(1)} flush>
          <div className="divide-y divide-line border-t border-line">
            {routes.map((listed) => (
              <RouteRow key={listed.id} listed={listed} shared={shared} />
            ))}
          </div>
        </Card>
      ))}
      {foundSchemas.length > 0 && (
        <Card title={text.schemas} flush>
          <div className="divide-y divide-line border-t border-line">
            {foundSchemas.map(([name, schema]) => (
              <SchemaRow key={name} name={name} schema={schema} />
            ))}
          </div>
        </Card>
      )}
    </div>
  );
}

const Code = ({ children }: { children: string }) => <code className="rounded bg-sunken px-1 text-sm">{children}</code>;

export default function DocsPage() {
  const [find, setFind] = useState("");
  const hash = useRouterState({ select: (state) => state.location.hash });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link to what the search has put away shows it again
  useEffect(() => setFind(""), [hash]);
  const about = (
    <>
      {text.about} <Code>Authorization: Bearer TOKEN</Code> (
      <Link to="/account/tokens" className="text-accent underline underline-offset-4">
        {text.token}
      </Link>
      ). {text.errors} <Code>{"{error: {code, message, hint?, fields?}}"}</Code>. {text.idempotency}{" "}
      <Code>Idempotency-Key</Code>. {text.sockets} <Code>/api/v1/events</Code>, <Code>/api/v1/public/events</Code>,{" "}
      <Code>{"/api/v1/jobs/{job_id}/stream"}</Code>, <Code>/api/v1/agent/link</Code>. {text.messages}{" "}
      <Code>GET /api/v1/events/schema</Code>.
    </>
  );
  const wanted = useDeferredValue(find);
  return (
    <Page
      title={text.title}
      about={about}
      actions={
        <a href="/openapi.json" className="text-sm text-accent underline underline-offset-4">
          {text.document}
        </a>
      }
    >
      <SearchField label={text.find} value={find} onChange={setFind} className="mb-6 max-w-xl" />
      <Loaded query={useQuery(documentQuery)}>{(found) => <Reference document={found} wanted={wanted} />}</Loaded>
    </Page>
  );
}

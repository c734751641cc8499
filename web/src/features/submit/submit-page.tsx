import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { jobQuery, whyQuery } from "@/api/queries/jobs";
import { catalogQuery } from "@/api/queries/public";
import { checkQuery, cloneQuery, submitJob, type Written } from "@/api/queries/submit";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { FilterSelect, useFilters } from "@/components/filters";
import { inputClass } from "@/components/input-class";
import { Loaded } from "@/components/loaded";
import { Meter } from "@/components/meter";
import { Page } from "@/components/page";
import { Skeleton } from "@/components/skeleton";
import { toast } from "@/components/toasts";
import { Trouble } from "@/components/trouble";
import { cn } from "@/lib/cn";
import { submit as text } from "@/texts/submit";
import { type Draft, EMPTY, fromWire, pythonOf, withField } from "./draft";
import { type Bundle, packed } from "./files";
import { Needs } from "./needs";
import { Price, QuotePanel } from "./quote";
import { Replace } from "./replace";
import { SameJob } from "./same-job";
import { Source, type SourceKind } from "./source";
import { useJob } from "./use-job";

type Search = { from?: string; relax?: string; template?: string; node?: string };
/** With what the form begins. */
type Seed = {
  draft: Draft;
  bundle: Schemas["GivenFile"] | null;
  kind: SourceKind;
  template: string;
  /** The job that this one takes the place of: it still waits. */
  waiting: { id: string; name: string } | null;
};

type Sending = { part: number | null } | null;

/** Packs, sends and goes to the job's page. The same job sent again after a lost answer is not made twice. */
function useSubmit() {
  const go = useNavigate();
  const queries = useQueryClient();
  const intent = useRef({ key: "", of: "" });
  const [sending, setSending] = useState<Sending>(null);
  const [error, setError] = useState<unknown>(null);
  const send = async (spec: Written, bundle: Bundle | null, bundleId: string | null, replaced: string | null) => {
    const of = JSON.stringify([
      spec,
      bundleId,
      bundle?.archive?.size,
      bundle?.files.map(({ path, file }) => [path, file.size]),
    ]);
    if (intent.current.of !== of) intent.current = { key: idempotencyKey(), of };
    setError(null);
    setSending({ part: null });
    try {
      const archive = bundle && (await packed(bundle));
      const job = await submitJob({ spec, bundle: archive, bundleId, key: intent.current.key }, (part) =>
        setSending({ part }),
      );
      if (replaced)
        await ask(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: replaced } } })).catch(() =>
          toast({ title: text.notReplaced, tone: "bad" }),
        );
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      await go({ to: "/jobs/$jobId", params: { jobId: job.id } });
    } catch (failure) {
      setError(failure);
    } finally {
      setSending(null);
    }
  };
  return { send, sending, error };
}

function Submit({ seed, title, templates }: { seed: Seed; title: string; templates: ReactNode }) {
  const [kind, setKind] = useState<SourceKind>(seed.kind);
  const [bundle, setBundle] = useState<Bundle | null>(null);
  const [kept, setKept] = useState(seed.bundle);
  const [language, setLanguage] = useState<"shell" | "python">(pythonOf(seed.draft.run) === null ? "shell" : "python");
  const [isReplacing, setReplacing] = useState(true);
  const job = useJob(seed.draft, null);
  const { send, sending, error } = useSubmit();
  const money = useMoney();
  const quote = job.quote.data;
  const action = quote?.actions.submit;
  const isBroken = job.problems.length > 0;
  const isReady = job.answer?.valid === true && (action?.allowed ?? false);
  const button = (
    <Button
      look="primary"
      size="lg"
      className="w-full"
      pending={sending !== null}
      disabled={!isReady}
      onClick={() =>
        void send(job.spec, bundle, bundle ? null : (kept?.id ?? null), isReplacing ? (seed.waiting?.id ?? null) : null)
      }
    >
      {sending ? (sending.part === null ? text.packing : text.sending(sending.part)) : text.submit}
    </Button>
  );
  const whyNot = isBroken ? text.broken : action && !action.allowed ? action.reason : null;
  return (
    <Page title={title} about={text.about} actions={templates}>
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_21rem] xl:grid-cols-[minmax(0,1fr)_20rem_21rem]">
        <div className="grid min-w-0 grid-cols-1 gap-4">
          <input
            aria-label={text.name}
            placeholder={`${text.name} (${text.namePlaceholder})`}
            value={job.draft.name ?? ""}
            onChange={({ target }) => job.change(withField(job.draft, "name", target.value))}
            className={cn(inputClass, "font-medium")}
          />
          <Source
            kind={kind}
            setKind={(next) => {
              setKind(next);
              if (next === "yaml") void job.beginYaml();
            }}
            draft={job.draft}
            change={job.change}
            problems={job.problems}
            bundle={bundle}
            kept={kept?.size_bytes ?? null}
            setBundle={(next) => {
              setBundle(next);
              if (next === null) setKept(null);
            }}
            language={language}
            setLanguage={setLanguage}
            yaml={job.yaml}
            setYaml={job.setYaml}
          />
          <SameJob check={job.check} hasFiles={bundle !== null || kept !== null} />
        </div>
        <div className="min-w-0 lg:max-xl:row-start-2">
          <Needs draft={job.draft} change={job.change} problems={job.problems} />
        </div>
        <div className="min-w-0 lg:sticky lg:top-20 lg:max-xl:row-span-2">
          <Card title={text.quote} className="lg:max-h-[calc(100dvh-6rem)] lg:overflow-y-auto">
            <div className="mt-1 grid gap-4">
              <QuotePanel
                query={job.quote}
                apply={({ field, value }) => job.change(withField(job.draft, field, value))}
              />
              {seed.waiting && <Replace name={seed.waiting.name} checked={isReplacing} onChange={setReplacing} />}
              {error != null && <Trouble error={error} compact />}
              {sending?.part != null && <Meter label={text.sending(sending.part)} part={sending.part} />}
              <div className="max-lg:hidden">{button}</div>
              {whyNot && <p className="-mt-2 text-sm text-muted text-pretty max-lg:hidden">{whyNot}</p>}
            </div>
          </Card>
        </div>
      </div>
      <div className="sticky bottom-0 z-10 -mx-4 mt-6 border-t border-line bg-page px-4 py-3 sm:-mx-6 sm:px-6 lg:hidden">
        {money && quote && <Price quote={quote} />}
        <div className="mt-2">{button}</div>
        {whyNot && <p className="mt-1 text-sm text-muted">{whyNot}</p>}
      </div>
    </Page>
  );
}

/** The draft with the change that the API suggests for this field, while the job still waits. */
async function relaxed(queries: QueryClient, jobId: string, field: string, draft: Draft): Promise<Partial<Seed>> {
  const job = await queries.fetchQuery({ ...jobQuery(jobId), staleTime: 0 });
  if (job.state !== "queued") return {};
  const { waiting } = await queries.fetchQuery({ ...whyQuery(jobId), staleTime: 0 });
  const change = waiting.flatMap(({ relaxations }) => relaxations).find((one) => one.field === field);
  return {
    waiting: { id: job.id, name: job.name },
    ...(change ? { draft: withField(draft, change.field, change.value) } : {}),
  };
}

/** A template is YAML: the API turns it into the canonical form. */
function useSeed({ from, relax, template, node }: Search) {
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["seed", from ?? "", relax ?? "", template ?? "", node ?? ""],
    queryFn: async (): Promise<Seed> => {
      const begin: Seed = { draft: EMPTY, bundle: null, kind: "files", template: template ?? "", waiting: null };
      if (from) {
        const { spec, bundle } = await queries.fetchQuery({ ...cloneQuery(from), staleTime: 0 });
        Object.assign(begin, { draft: fromWire(spec), bundle, kind: bundle ? "files" : "script" });
        if (relax) Object.assign(begin, await relaxed(queries, from, relax, begin.draft));
      } else if (template) {
        const { templates } = await queries.ensureQueryData(catalogQuery);
        const found = templates.find(({ name }) => name === template);
        const spec = found && (await queries.fetchQuery(checkQuery(found.yaml))).spec;
        if (spec) Object.assign(begin, { draft: fromWire(spec), kind: spec.workdir ? "files" : "script" });
      }
      return node ? { ...begin, draft: withField(begin.draft, "where.node", node) } : begin;
    },
    gcTime: 0,
  });
}

export default function SubmitPage() {
  const [search, set] = useFilters<Search>();
  const seed = useSeed(search);
  const templates = useQuery(catalogQuery).data?.templates ?? [];
  const title = search.from ? text.again : text.title;
  return (
    <Loaded
      query={seed}
      skeleton={
        <Page title={title} about={text.about}>
          <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_21rem] xl:grid-cols-[minmax(0,1fr)_20rem_21rem]">
            <Skeleton className="h-96 rounded-lg" />
            <Skeleton className="h-96 rounded-lg" />
            <Skeleton className="h-96 rounded-lg max-xl:hidden" />
          </div>
        </Page>
      }
    >
      {(found) => (
        <Submit
          key={JSON.stringify(search)}
          seed={found}
          title={title}
          templates={
            <FilterSelect
              label={text.template}
              value={search.template ?? ""}
              options={templates.map(({ name, title: label }) => [name, label] as const)}
              onChange={(template) => set({ template, from: "", relax: "" })}
            />
          }
        />
      )}
    </Loaded>
  );
}

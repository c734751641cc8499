import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useRefreshWithPool } from "@/api/hooks";
import { checkQuery, quoteQuery } from "@/api/queries/submit";
import type { Problem } from "./control";
import { type Draft, fromWire, toSpec } from "./draft";

const TYPING_MS = 300;
const NONE: Problem[] = [];

function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** The job as a form and as YAML. Whichever was changed last leads; the API's canonical form brings the other along. */
export function useJob(first: Draft, firstYaml: string | null) {
  const [draft, setDraft] = useState(first);
  const [yaml, setYamlText] = useState(firstYaml ?? "");
  const [leader, setLeader] = useState<"form" | "yaml">("form");
  const spec = useMemo(() => toSpec(draft), [draft]);
  const asked = useSettled(leader === "yaml" ? yaml : spec);
  const check = useQuery({ ...checkQuery(asked), placeholderData: keepPreviousData });
  const isSettled = !check.isPlaceholderData && asked === (leader === "yaml" ? yaml : spec);
  const answer = isSettled ? check.data : undefined;
  // A quote needs a spec that is right, but not yet what to run.
  const isRight = answer !== undefined && leader === "form" && answer.errors.every(({ field }) => field === "run");
  useRefreshWithPool(["quote"]);
  const quote = useQuery({
    ...quoteQuery(spec),
    enabled: isRight || (answer?.valid ?? false),
    placeholderData: keepPreviousData,
  });
  useEffect(() => {
    if (!answer?.spec) return;
    if (leader === "yaml") setDraft(fromWire(answer.spec));
    else setYamlText(answer.yaml ?? "");
  }, [answer, leader]);
  return {
    draft,
    spec,
    yaml,
    quote,
    check: check.data,
    /** What the API says of exactly this job; undefined while it is asked. */
    answer,
    problems:
      (leader === "yaml" ? answer?.errors : answer?.errors.filter(({ field }) => field !== "run" || draft.run)) ?? NONE,
    /** Before the spec can be right there is no canonical YAML: begins with what the form has. */
    beginYaml: async () => {
      if (yaml) return;
      const { stringify } = await import("yaml");
      setYamlText(`${Object.keys(spec).length ? stringify(spec) : ""}run: ""\n`);
    },
    change: (next: Draft) => {
      setLeader("form");
      setDraft(next);
    },
    setYaml: (next: string) => {
      if (next === yaml) return;
      setLeader("yaml");
      setYamlText(next);
    },
  };
}

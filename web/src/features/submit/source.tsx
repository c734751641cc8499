import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { catalogQuery } from "@/api/queries/public";
import { Card } from "@/components/card";
import { Skeleton } from "@/components/skeleton";
import { Choices } from "@/components/tabs";
import { patiently } from "@/lib/patiently";
import { submit as text } from "@/texts/submit";
import { Control, type Problem, TextBlock, TextBox } from "./control";
import { asPython, type Draft, pythonOf, runText, withField } from "./draft";
import { DropZone } from "./drop-zone";
import type { Bundle } from "./files";

const YamlEditor = lazy(patiently(() => import("./yaml-editor")));
export type SourceKind = keyof typeof text.sources;

type Props = {
  kind: SourceKind;
  setKind: (kind: SourceKind) => void;
  draft: Draft;
  change: (draft: Draft) => void;
  problems: Problem[];
  bundle: Bundle | null;
  kept: number | null;
  setBundle: (bundle: Bundle | null) => void;
  language: "shell" | "python";
  setLanguage: (language: "shell" | "python") => void;
  yaml: string;
  setYaml: (yaml: string) => void;
};

function Command({
  draft,
  change,
  problems,
  rows = 3,
  setup = true,
}: Pick<Props, "draft" | "change" | "problems"> & { rows?: number; setup?: boolean }) {
  return (
    <>
      <Control label={text.command} field="run" problems={problems} hint={text.commandHint}>
        {(given) => (
          <TextBlock
            given={given}
            rows={rows}
            placeholder={text.commandPlaceholder}
            value={runText(draft.run)}
            onChange={(event) => change(withField(draft, "run", event.target.value))}
          />
        )}
      </Control>
      {setup && (
        <Control label={text.setup} field="setup" problems={problems} hint={text.setupHint}>
          {(given) => (
            <TextBlock
              given={given}
              rows={2}
              placeholder={text.setupPlaceholder}
              value={draft.setup ?? ""}
              onChange={(event) => change(withField(draft, "setup", event.target.value))}
            />
          )}
        </Control>
      )}
    </>
  );
}

function Image({ draft, change, problems }: Pick<Props, "draft" | "change" | "problems">) {
  const images = useQuery(catalogQuery).data?.images ?? [];
  return (
    <>
      <Control label={text.image} field="image" problems={problems} hint={text.imageHint}>
        {(given) => (
          <TextBox
            given={given}
            placeholder={text.imagePlaceholder}
            options={images.map(({ name }) => name)}
            value={draft.image ?? ""}
            onChange={(event) => change(withField(draft, "image", event.target.value))}
          />
        )}
      </Control>
      <ul className="grid gap-1.5">
        {images.map(({ name, title, nodes_cached }) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={draft.image === name}
              onClick={() => change(withField(draft, "image", draft.image === name ? "" : name))}
              className="flex w-full cursor-pointer flex-wrap items-baseline justify-between gap-x-4 rounded-md border border-line px-3 py-2 text-left hover:bg-sunken aria-pressed:border-ink aria-pressed:bg-sunken"
            >
              <span className="font-medium">{title}</span>
              {nodes_cached > 0 && <span className="text-sm text-muted">{text.imageCached(nodes_cached)}</span>}
              <span className="w-full truncate font-mono text-sm text-muted">{name}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What runs: files with a command, a script, an image, or the whole spec as YAML. */
export function Source(props: Props) {
  const { kind, setKind, draft, change, problems, language, setLanguage } = props;
  const python = pythonOf(draft.run);
  return (
    <Card
      title={text.source}
      aside={
        <Choices
          label={text.source}
          value={kind}
          options={Object.entries(text.sources) as [SourceKind, string][]}
          onChange={setKind}
        />
      }
    >
      <div className="mt-2 grid grid-cols-1 gap-4">
        {kind === "yaml" ? (
          <Suspense fallback={<Skeleton className="h-80" />}>
            <YamlEditor text={props.yaml} problems={problems} onChange={props.setYaml} />
          </Suspense>
        ) : (
          <>
            {kind === "files" && <DropZone bundle={props.bundle} kept={props.kept} onChange={props.setBundle} />}
            {kind === "image" && <Image draft={draft} change={change} problems={problems} />}
            {kind === "script" ? (
              <div>
                <Control label={text.script} field="run" problems={problems} hint={text.scriptHint}>
                  {(given) => (
                    <TextBlock
                      given={given}
                      rows={14}
                      placeholder={text.scriptPlaceholder[language]}
                      value={language === "python" ? (python ?? runText(draft.run)) : runText(draft.run)}
                      onChange={({ target }) =>
                        change(withField(draft, "run", language === "python" ? asPython(target.value) : target.value))
                      }
                    />
                  )}
                </Control>
                <div className="mt-3">
                  <Choices
                    label={text.language}
                    value={language}
                    options={Object.entries(text.languages) as ["shell" | "python", string][]}
                    onChange={(next) => {
                      const script = python ?? runText(draft.run);
                      setLanguage(next);
                      change(withField(draft, "run", next === "python" ? asPython(script) : script));
                    }}
                  />
                </div>
              </div>
            ) : (
              <Command draft={draft} change={change} problems={problems} />
            )}
          </>
        )}
      </div>
    </Card>
  );
}

import { useState } from "react";
import type { Schemas } from "@/api/client";
import { Card } from "@/components/card";
import { CommandLine, CopyButton } from "@/components/command-line";
import { Prose } from "@/components/prose";
import { Choices } from "@/components/tabs";
import { submit as text } from "@/texts/submit";

type Form = keyof typeof text.sameAs;

/** Text of several lines, to be copied. */
const Block = ({ text, label }: { text: string; label: string }) => (
  <div className="relative rounded-md border border-line bg-sunken">
    <CopyButton text={text} label={label} className="absolute top-1 right-1" />
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, with the keyboard too */}
    <pre tabIndex={0} className="max-h-80 overflow-auto p-3 pr-10 font-mono text-sm">
      {text}
    </pre>
  </div>
);

/** The job as a command and as YAML, and what the API notes about it. */
export function SameJob({ check, hasFiles }: { check: Schemas["SpecCheck"] | undefined; hasFiles: boolean }) {
  const [form, setForm] = useState<Form>("command");
  const valid = check?.valid ? check : null;
  return (
    <>
      <Card
        title={text.same}
        aside={
          <Choices
            label={text.same}
            value={form}
            options={Object.entries(text.sameAs) as [Form, string][]}
            onChange={setForm}
          />
        }
      >
        <div className="mt-2">
          {!valid ? (
            <p className="text-muted text-pretty">{text.sameNot}</p>
          ) : form === "command" ? (
            <>
              {valid.command?.includes("\n") ? (
                <Block text={valid.command} label={text.copyCommand} />
              ) : (
                <CommandLine line={valid.command ?? ""} />
              )}
              {hasFiles && !valid.spec?.workdir && <p className="mt-2 text-sm text-muted">{text.sameFiles}</p>}
            </>
          ) : (
            <Block text={valid.yaml ?? ""} label={text.copyYaml} />
          )}
        </div>
      </Card>
      {valid && (valid.warnings.length > 0 || valid.defaults.length > 0) && (
        <Card title={text.warnings}>
          <ul className="grid gap-1.5">
            {valid.warnings.map(({ code, field, message }) => (
              <li key={code + (field ?? "")} className="text-pretty">
                <Prose>{message}</Prose>
              </li>
            ))}
          </ul>
          {valid.defaults.length > 0 && (
            <details className={valid.warnings.length ? "mt-3" : undefined}>
              <summary className="cursor-pointer text-sm text-muted hover:text-text">{text.defaults}</summary>
              <dl className="mt-2 grid gap-2 text-sm">
                {valid.defaults.map(({ field, value, why }) => (
                  <div key={field}>
                    <dt>
                      <code>{field}</code> {value && <span className="font-medium">{value}</span>}
                    </dt>
                    <dd className="text-muted text-pretty">{why}</dd>
                  </div>
                ))}
              </dl>
            </details>
          )}
        </Card>
      )}
    </>
  );
}

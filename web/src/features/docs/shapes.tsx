import type { ReactNode } from "react";
import { Prose } from "@/components/prose";
import { docs as text } from "@/texts/docs";
import { nameOf, type Shape } from "./document";

const isNull = (shape: Shape) => shape.type === "null";

/** A shape in few words, with links to those that it names. */
export function Words({ shape }: { shape: Shape | undefined }): ReactNode {
  if (!shape || Object.keys(shape).length === 0) return text.anything;
  if (shape.$ref) {
    const name = nameOf(shape.$ref);
    return (
      <a href={`#schema-${name}`} className="text-accent underline underline-offset-2">
        {name}
      </a>
    );
  }
  const choice = shape.anyOf ?? shape.oneOf ?? shape.allOf;
  if (choice) {
    const some = choice.filter((one) => !isNull(one));
    return (
      <>
        {some.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
          <span key={index}>
            {index > 0 && " or "}
            <Words shape={one} />
          </span>
        ))}
        {some.length < choice.length && " or null"}
      </>
    );
  }
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.enum) return shape.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (shape.type === "array") {
    return (
      <>
        list of <Words shape={shape.items} />
      </>
    );
  }
  if (shape.type === "object" && typeof shape.additionalProperties === "object") {
    return (
      <>
        object of <Words shape={shape.additionalProperties} />
      </>
    );
  }
  return shape.format ?? shape.contentMediaType ?? shape.type ?? text.anything;
}

function limitsOf(shape: Shape): string {
  const parts: Record<string, unknown>[] = [shape, ...(shape.anyOf ?? [])];
  const { default: byDefault, ...limits } = text.limits;
  const found = Object.entries(limits).flatMap(([key, say]) => {
    const value = parts.map((part) => part[key]).find((one) => one !== undefined);
    return value === undefined ? [] : [say(value)];
  });
  if (shape.default !== undefined && shape.default !== null) found.push(byDefault(JSON.stringify(shape.default)));
  return found.join(", ");
}

type Row = {
  name: string;
  place?: string;
  required?: boolean | undefined;
  shape: Shape | undefined;
  about?: string | undefined;
};
export function FieldTable({ caption, rows }: { caption: string; rows: Row[] }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left text-sm">
        <caption className="py-1 text-left font-medium">{caption}</caption>
        <tbody className="divide-y divide-line">
          {rows.map(({ name, place, required, shape, about }) => (
            <tr key={`${place} ${name}`} className="align-top">
              <th scope="row" className="py-1 pr-4 font-normal whitespace-nowrap">
                <code>{name}</code>
                {required && (
                  <span className="text-bad" title={text.required}>
                    *
                  </span>
                )}
              </th>
              <td className="py-1 pr-4">
                <Words shape={shape} />
                {place && <span className="text-muted"> {text.at(place)}</span>}
              </td>
              <td className="py-1 text-muted">
                <Prose>{[limitsOf(shape ?? {}), about].filter(Boolean).join(". ")}</Prose>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

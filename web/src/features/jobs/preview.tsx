import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { errorOf } from "@/api/errors";
import { send } from "@/api/session";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { bytes } from "@/lib/amounts";
import { jobTexts } from "@/texts/jobs";
import { type Cell, cellsOf, rowsOf } from "./tables";

type Output = Schemas["OutputView"];
const text = jobTexts.outputs;
/** Shown of a text. A notebook is read whole up to a larger limit: a part of it cannot be read. */
const TEXT_BYTES = 256 * 1024;
const NOTEBOOK_BYTES = 8 * 2 ** 20;
const ROWS_SHOWN = 200;

/** What a browser can show of a file: pictures, sound and films by a signed address, texts read by script. */
export function Preview({ file }: { file: Output }) {
  const [kind] = file.media_type.split("/");
  const url = file.preview_url;
  return (
    <Card title={file.path} aside={`${file.media_type}, ${bytes(file.size_bytes)}`} flush>
      <div className="border-t border-line">
        {!url && <p className="p-4 text-muted">{text.noPreview}</p>}
        {url && kind === "image" && (
          <img src={url} alt={file.path} className="mx-auto max-h-[70vh] max-w-full bg-sunken object-contain" />
        )}
        {url && kind === "audio" && (
          // biome-ignore lint/a11y/useMediaCaption: a job's own file has none
          <audio src={url} controls className="w-full p-4" />
        )}
        {url && kind === "video" && (
          // biome-ignore lint/a11y/useMediaCaption: a job's own file has none
          <video src={url} controls className="max-h-[70vh] w-full bg-sunken" />
        )}
        {url && kind !== "image" && kind !== "audio" && kind !== "video" && <TextPreview file={file} url={url} />}
      </div>
    </Card>
  );
}

async function read(url: string, limit: number): Promise<string> {
  const response = await send(new Request(url, { headers: { Range: `bytes=0-${limit - 1}` } }));
  if (response.status === 416) return ""; // an empty file has no first byte
  if (!response.ok) throw await errorOf(response);
  return new TextDecoder().decode(await response.arrayBuffer());
}

function TextPreview({ file, url }: { file: Output; url: string }) {
  const isNotebook = file.path.toLowerCase().endsWith(".ipynb");
  const limit = isNotebook ? NOTEBOOK_BYTES : TEXT_BYTES;
  const query = useQuery({ queryKey: ["preview", file.digest], queryFn: () => read(url, limit) });
  const isPart = file.size_bytes > limit;
  const separator = /\.tsv$/i.test(file.path) ? "\t" : /\.csv$/i.test(file.path) ? "," : null;
  return (
    <Loaded query={query}>
      {(content) => {
        const cells = isNotebook && !isPart ? cellsOf(content) : null;
        if (cells) return <Notebook cells={cells} />;
        if (separator) return <Rows rows={rowsOf(content, separator, ROWS_SHOWN + 2)} isPart={isPart} />;
        return <Plain content={content} note={isPart ? text.part(bytes(limit)) : null} />;
      }}
    </Loaded>
  );
}

const Note = ({ children }: { children: string }) => (
  <p className="border-t border-line bg-warn-soft px-4 py-1.5 text-sm text-warn">{children}</p>
);

const Plain = ({ content, note }: { content: string; note: string | null }) => (
  <>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too */}
    <pre tabIndex={0} className="max-h-[70vh] overflow-auto px-4 py-3 font-mono text-sm">
      {content}
    </pre>
    {note && <Note>{note}</Note>}
  </>
);

function Rows({ rows, isPart }: { rows: string[][]; isPart: boolean }) {
  const [head = [], ...rest] = rows;
  const shown = rest.slice(0, ROWS_SHOWN);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too */}
      <section className="max-h-[70vh] overflow-auto" aria-label={text.rows(shown.length)} tabIndex={0}>
        <table className="w-full text-left text-sm">
          <thead className="sticky top-0 bg-sunken">
            <tr>
              {head.map((cell, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay in their places
                <th key={i} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                  {cell}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {shown.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows stay in their places
              <tr key={i}>
                {row.map((cell, j) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns stay in their places
                  <td key={j} className="max-w-80 truncate px-3 py-1.5">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {(isPart || rest.length > shown.length) && <Note>{text.rows(shown.length)}</Note>}
    </>
  );
}

const Notebook = ({ cells }: { cells: Cell[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too
  <section aria-label={text.preview("")} tabIndex={0} className="max-h-[70vh] divide-y divide-line overflow-auto">
    {cells.map((cell, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: cells stay in their places
      <div key={i} className="px-4 py-3">
        <pre
          className={
            cell.isCode ? "overflow-x-auto rounded-md bg-sunken p-3 font-mono text-sm" : "font-sans whitespace-pre-wrap"
          }
        >
          {cell.source}
        </pre>
        {cell.output && <pre className="mt-2 overflow-x-auto px-3 font-mono text-sm text-muted">{cell.output}</pre>}
      </div>
    ))}
  </section>
);

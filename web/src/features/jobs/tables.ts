// Files as people read them: rows of CSV, cells of a notebook. Texts only: nothing of a file becomes markup.

/** The first rows. Quotes as in RFC 4180; a quote that is never closed ends with the text. */
export function rowsOf(content: string, separator: string, limit: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    rows.push([...row, cell]);
    row = [];
    cell = "";
  };
  for (let i = 0; i < content.length && rows.length < limit; i++) {
    const letter = content[i]!;
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (content[i + 1] === '"') cell += content[i++]!;
      else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === separator) {
      row.push(cell);
      cell = "";
    } else if (letter === "\n") endRow();
    else if (letter !== "\r") cell += letter;
  }
  if (rows.length < limit && (cell || row.length)) endRow();
  return rows;
}

export type Cell = { isCode: boolean; source: string; output: string };
type Lines = string | string[] | undefined;
type Notebook = {
  cells?: {
    cell_type?: string;
    source?: Lines;
    outputs?: { text?: Lines; data?: Record<string, Lines>; traceback?: string[]; ename?: string; evalue?: string }[];
  }[];
};
const joined = (lines: Lines): string =>
  Array.isArray(lines) ? lines.join("") : typeof lines === "string" ? lines : "";

/** A notebook's cells with what they printed; null where it is none. */
export function cellsOf(content: string): Cell[] | null {
  let notebook: Notebook;
  try {
    notebook = JSON.parse(content) as Notebook;
  } catch {
    return null;
  }
  if (!Array.isArray(notebook?.cells)) return null;
  return notebook.cells.map((cell) => ({
    isCode: cell?.cell_type === "code",
    source: joined(cell?.source),
    output: (Array.isArray(cell?.outputs) ? cell.outputs : [])
      .map(
        (out) =>
          joined(out?.text) || joined(out?.data?.["text/plain"]) || (out?.ename ? `${out.ename}: ${out.evalue}` : ""),
      )
      .filter(Boolean)
      .join("\n"),
  }));
}

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useEffectEvent, useRef } from "react";
import { nonce } from "@/lib/nonce";
import { shown } from "@/lib/shown";
import { submit as text } from "@/texts/submit";
import type { Problem } from "./control";

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--live)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--held)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.meta], color: "var(--muted)" },
]);
const LOOK = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--text)", fontSize: "0.8125rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--font-mono, ui-monospace)",
    minHeight: "20rem",
    maxHeight: "36rem",
    lineHeight: "1.5",
  },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "none" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--live-soft)",
  },
});

function diagnostics(state: EditorState, problems: Problem[]): Diagnostic[] {
  return problems.map(({ line, column, message, hint, field }) => {
    const at = state.doc.line(Math.min(state.doc.lines, Math.max(1, line ?? 1)));
    const from = Math.min(at.to, at.from + Math.max(0, (column ?? 1) - 1));
    const told = [field, message].filter(Boolean).join(": ");
    return { from, to: Math.max(from, at.to), severity: "error", message: shown(hint ? `${told}. ${hint}` : told) };
  });
}

/** The spec as YAML, with the API's own diagnostics at their places. */
export default function YamlEditor({
  text: doc,
  problems,
  onChange,
}: {
  text: string;
  problems: Problem[];
  onChange: (text: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useEffectEvent((next: string) => onChange(next));
  const first = useRef(doc);
  useEffect(() => {
    const editor = new EditorView({
      parent: box.current!,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ "aria-label": text.yamlLabel }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed(update.state.doc.toString());
          }),
          lineNumbers(),
          history(),
          lintGutter(),
          yaml(),
          syntaxHighlighting(COLOURS),
          LOOK,
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current!;
    const now = editor.state.doc.toString();
    if (now !== doc) editor.dispatch({ changes: { from: 0, to: now.length, insert: doc } });
  }, [doc]);
  useEffect(() => {
    const editor = view.current!;
    editor.dispatch(setDiagnostics(editor.state, diagnostics(editor.state, problems)));
  }, [problems]);
  return (
    <div className="min-w-0">
      <div ref={box} className="overflow-hidden rounded-md border border-edge" />
      {problems.length > 0 && (
        <div role="status" className="mt-2 text-sm">
          <p className="text-bad">{text.yamlWrong(problems.length)}</p>
          <ul className="mt-1 grid gap-0.5">
            {problems.map(({ field, message, hint, line, column }) => (
              <li key={`${field} ${message}`}>
                {line && <span className="text-muted">{text.line(line, column ?? 1)}: </span>}
                <code>{field}</code> {message}
                {hint && <span className="text-muted">. {hint}</span>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

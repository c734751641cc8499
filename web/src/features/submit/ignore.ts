// Which files of a folder a rule file leaves out: gitignore syntax, matched as git and the command line match it
// (src/computepool/client/ignore.py). Paths and patterns are strings with one character for each byte of UTF-8.
const POSIX_CLASSES: Record<string, string> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  blank: " \\t",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "\\x21-\\x7e",
  lower: "a-z",
  print: "\\x20-\\x7e",
  punct: "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
  space: "\\x09-\\x0d\\x20",
  upper: "A-Z",
  xdigit: "0-9A-Fa-f",
};
const UTF8_MARK = "\xef\xbb\xbf";
const PIECE = 8192;

/** One character for each byte. */
export function byteString(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return text;
}
const utf8 = new TextEncoder();

/** `byName`: the pattern has no slash, so it is asked about the last part of a path only. */
type Rule = { ignores: boolean; foldersOnly: boolean; byName: boolean; regex: RegExp };
/** The rules of one file, and the folder that they are relative to: "" or a path with a slash at its end. */
export type Rules = { base: string; newestFirst: Rule[] };

export function parseRules(text: string, base = ""): Rules {
  const lines = text.replace(UTF8_MARK, "").split("\n");
  const rules = lines.map((line) => parseRule(line.replace(/\r$/, ""))).filter((rule) => rule !== null);
  return { base: byteString(utf8.encode(base)), newestFirst: rules.reverse() };
}

/** Asks the rules from the strongest, which are the last, down. Whoever asks never looks into an ignored folder. */
export function isIgnored(layers: Rules[], path: string, isFolder: boolean): boolean {
  const whole = byteString(utf8.encode(path));
  const name = whole.slice(whole.lastIndexOf("/") + 1);
  for (const { base, newestFirst } of layers.toReversed()) {
    const own = whole.slice(base.length);
    const rule = newestFirst.find(
      ({ foldersOnly, byName, regex }) => (isFolder || !foldersOnly) && regex.test(byName ? name : own),
    );
    if (rule) return rule.ignores;
  }
  return false;
}

/** Null for a comment, an empty line, or a pattern that git says can never match. */
function parseRule(line: string): Rule | null {
  if (line.startsWith("#")) return null;
  let pattern = withoutTrailingSpaces(line);
  const ignores = !pattern.startsWith("!");
  if (!ignores) pattern = pattern.slice(1);
  const foldersOnly = pattern.endsWith("/");
  if (foldersOnly) pattern = pattern.slice(0, -1);
  if (!pattern) return null;
  const byName = !pattern.includes("/");
  const regex = translate(pattern.replace(/^\//, ""), byName);
  return regex === null ? null : { ignores, foldersOnly, byName, regex: new RegExp(`^(?:${regex})$`, "s") };
}

function withoutTrailingSpaces(line: string): string {
  const kept = line.replace(/ +$/, "");
  const backslashes = /\\*$/.exec(kept)![0].length;
  return kept.length < line.length && backslashes % 2 === 1 ? `${kept} ` : kept;
}

const hex = (char: string): string => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;

/** A pattern as a regular expression; null when git would never match it. */
function translate(pattern: string, byName: boolean): string | null {
  let out = "";
  let at = 0;
  while (at < pattern.length) {
    const char = pattern[at]!;
    if (char === "*") {
      let end = at;
      while (pattern[end] === "*") end += 1;
      const isWholePart = (at === 0 || pattern[at - 1] === "/") && (end === pattern.length || pattern[end] === "/");
      if (end - at === 1 || byName || !isWholePart) out += "[^/]*";
      else if (end === pattern.length) out += ".*";
      else {
        out += "(?:.*/)?";
        end += 1;
      }
      at = end;
    } else if (char === "?") {
      out += "[^/]";
      at += 1;
    } else if (char === "[") {
      const set = bracket(pattern, at);
      if (set === null) return null;
      out += set.regex;
      at = set.end;
    } else if (char === "\\") {
      if (at + 1 === pattern.length) return null;
      out += hex(pattern[at + 1]!);
      at += 2;
    } else {
      out += hex(char);
      at += 1;
    }
  }
  return out;
}

/** A `[…]` set; null when it is not closed or names no known class. */
function bracket(pattern: string, start: number): { regex: string; end: number } | null {
  let at = start + 1;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at += 1;
  let members = "";
  for (let isFirst = true; isFirst || pattern[at] !== "]"; isFirst = false) {
    if (pattern.startsWith("[:", at)) {
      const close = pattern.indexOf(":]", at + 2);
      if (close >= 0) {
        const known = POSIX_CLASSES[pattern.slice(at + 2, close)];
        if (known === undefined) return null;
        members += known;
        at = close + 2;
        continue;
      }
    }
    if (pattern[at] === "\\") at += 1;
    const low = pattern[at++];
    if (low === undefined) return null;
    members += hex(low); // git takes the start of a range for itself too, even if it is backwards
    if (pattern[at] === "-" && pattern[at + 1] !== "]" && pattern[at + 1] !== undefined) {
      at += 1;
      if (pattern[at] === "\\") at += 1;
      const high = pattern[at++];
      if (high === undefined) return null;
      if (low <= high) members += `${hex(low)}-${hex(high)}`;
    }
  }
  // No set ever matches a slash.
  return { regex: isNegated ? `[^/${members}]` : `(?!/)[${members}]`, end: at + 1 };
}

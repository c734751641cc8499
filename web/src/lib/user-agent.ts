const BROWSERS = [
  [/\b(?:Edg|EdgA|EdgiOS)\/(\d+)/, "Edge"],
  [/\bOPR\/(\d+)/, "Opera"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/\bVersion\/(\d+).*Safari/, "Safari"],
] as const;
const SYSTEMS = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Linux/, "Linux"],
] as const;

/** A browser in few words: "Firefox 140 on Linux". Other programs as they call themselves. */
export function programOf(userAgent: string): string {
  const browser = BROWSERS.map(([form, name]) => [form.exec(userAgent)?.[1], name] as const).find(
    ([version]) => version,
  );
  if (!browser || !userAgent.startsWith("Mozilla/")) return userAgent;
  const system = SYSTEMS.find(([form]) => form.test(userAgent))?.[1];
  return `${browser[1]} ${browser[0]}${system ? ` on ${system}` : ""}`;
}

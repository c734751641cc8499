// Characters that have no shape of their own, or turn the direction of text and so make a name look like another.
const DECEITFUL =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const ANY = new RegExp(DECEITFUL.source);

/** The text with its deceitful characters made visible. `jsx/` does this to every text that is drawn. */
export function shown(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replace(DECEITFUL, (letter) => `⟨${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

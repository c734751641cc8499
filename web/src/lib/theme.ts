// What the person chose is kept in localStorage; `public/theme.js` sets it before the first paint.
export type Theme = "system" | "light" | "dark";
const root = () => document.documentElement;

export const chosenTheme = (): Theme => (root().dataset.theme as Theme | undefined) ?? "system";
export const isDark = (): boolean =>
  chosenTheme() === "dark" || (chosenTheme() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);

export function chooseTheme(theme: Theme): void {
  if (theme === "system") {
    delete root().dataset.theme;
    localStorage.removeItem("theme");
  } else {
    root().dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }
}

/** Called when the colours change, by choice or by the system. Returns what ends it. */
export function onThemeChange(listener: () => void): () => void {
  const watching = new MutationObserver(listener);
  watching.observe(root(), { attributeFilter: ["data-theme"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", listener);
  return () => {
    watching.disconnect();
    system.removeEventListener("change", listener);
  };
}

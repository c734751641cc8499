// Before the first paint, so that the page never shows in the wrong theme.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {}
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();

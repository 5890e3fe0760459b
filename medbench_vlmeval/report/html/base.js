// The colour scheme: the reader's system decides until the button does. Runs before anything shows.
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  // storage is refused to some pages opened from a folder
  const stored = () => {
    try { return localStorage.getItem("medbench-theme"); } catch { return null; }
  };
  const store = (theme) => {
    try { localStorage.setItem("medbench-theme", theme); } catch { /* until the page is closed */ }
  };

  const chosen = () => root.dataset.chosen ?? stored();
  const apply = () => {
    const theme = chosen() ?? (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    root.classList.toggle("dark", theme === "dark");
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.setAttribute("aria-pressed", String(theme === "dark"));
    }
  };

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    root.dataset.chosen = root.dataset.theme === "dark" ? "light" : "dark";
    store(root.dataset.chosen);
    apply();
  });
})();

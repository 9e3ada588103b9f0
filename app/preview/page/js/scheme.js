// The switch between light and dark. Until somebody uses it, the system decides.

const DARK = matchMedia("(prefers-color-scheme: dark)");

export function themeSwitch(button) {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (DARK.matches ? "dark" : "light")) === "dark";
  const say = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Storage may be blocked: it holds until the page is left.
    }
    say();
  });
  DARK.addEventListener("change", say);
  say();
}

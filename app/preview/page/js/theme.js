// Sets the scheme that was chosen here before, ahead of the first paint. A classic script, since modules come later.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be blocked; the system's scheme it is.
  }
})();

// Panels below their buttons. Opening, closing, Escape and focus are the browser's.

/** Puts a popover below the button that opens it, inside of the window. */
export function anchor(button, popover) {
  popover.addEventListener("toggle", (event) => {
    const open = event.newState === "open";
    button.setAttribute("aria-expanded", String(open));
    if (!open) return;
    const { left, right, bottom } = button.getBoundingClientRect();
    const width = popover.offsetWidth;
    const start = left + width > innerWidth - 8 ? right - width : left;
    popover.style.left = `${Math.max(start, 8) + scrollX}px`;
    popover.style.top = `${bottom + 4 + scrollY}px`;
    popover.querySelector("button, input, select")?.focus();
  });
  button.setAttribute("aria-expanded", "false");
}

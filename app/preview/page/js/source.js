// A text to read: painted, and appended in slices when it is long.

import { appendSliced } from "./dom.js";
import { painted, painter } from "./yaml.js";

/** A block with one element for each line. */
export function sourceBlock(text, label, kind = "") {
  const block = document.createElement("pre");
  block.className = `source ${kind}`.trim();
  block.tabIndex = 0;
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", label);
  appendSliced(block, lines(text));
  return block;
}

function* lines(text) {
  const paint = painter();
  const all = text.split("\n");
  for (const [index, line] of all.entries()) {
    if (index === all.length - 1 && line === "") return;
    const row = document.createElement("div");
    // The line end belongs to the text, so that what is selected and copied is the text itself.
    row.append(...painted(paint, line), index < all.length - 1 ? "\n" : "");
    yield row;
  }
}

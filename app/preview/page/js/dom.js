// The few helpers that build the page. Text is always set as text: nothing from a manifest is ever read as HTML.

export const byId = (id) => document.getElementById(id);

/** An element. Properties that the DOM has are set as such, everything else as attributes; null leaves one out. */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && typeof value !== "string") element[key] = value;
    else if (key === "text") element.textContent = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A count with its noun, as in "1 workload" and "1,000 workloads". */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

const SLICE_MS = 8;
const SLICE_PARTS = 50; // laying them out takes the browser as long again; together well below the 50 ms that one notices

/**
 * Appends what a generator makes, in slices that leave the page time to answer. The parent is marked as busy until then.
 * @returns {() => void} stops it
 */
export function appendSliced(parent, makers) {
  let stopped = false;
  const stop = () => {
    stopped = true;
    parent.removeAttribute("aria-busy");
  };
  const slice = () => {
    if (stopped) return;
    const fragment = document.createDocumentFragment();
    const until = performance.now() + SLICE_MS;
    let next = makers.next();
    for (let parts = 1; !next.done; parts += 1) {
      fragment.append(next.value);
      if (parts === SLICE_PARTS || performance.now() > until) break;
      next = makers.next();
    }
    parent.append(fragment);
    if (next.done) stop();
    else requestAnimationFrame(slice);
  };
  parent.setAttribute("aria-busy", "true");
  slice();
  return stop;
}

let hiding = 0;

/** Says something for a moment, to eyes and to screen readers. */
export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    box.textContent = "";
  }, 4000);
}

/** Copies a text, or one that is promised. */
export async function copy(text, what) {
  let content;
  try {
    content = await text;
  } catch (error) {
    toast(error.message);
    return;
  }
  try {
    await navigator.clipboard.writeText(content);
    toast(`${what} copied`);
  } catch {
    // Browsers give pages a clipboard only on https and on localhost.
    toast("The browser does not let this page copy: select the text instead");
  }
}

/** Offers a text as a file. */
export function download(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Everything that takes time: the request, reading its answer, comparing texts. The page gets what it shows.

import { sideBySide } from "./diff.js";
import { headline } from "./words.js";

const TRIES = 4; // while the server is busy

let current = null; // the request that runs
let answer = null; // the last report
let asked = null; // body and query that it answers

/** Messages of the page, and what each does; those with an id are answered. */
const does = {
  convert,
  cancel: () => current?.abort(),
  item: ({ index }) => ({ item: answer.items[index], side: answer.renderings.sides[index] }),
  diff: ({ index }) => {
    const { before, after } = answer.renderings.sides[index];
    return after === null ? [] : sideBySide(before, after);
  },
  yaml: () => text(asked.body, `${asked.query}&output=yaml`),
};

self.postMessage({ type: "ready" });
self.onmessage = async ({ data }) => {
  if (data.id === undefined) {
    does[data.type](data);
    return;
  }
  try {
    self.postMessage({ type: "answer", id: data.id, result: await does[data.type](data) });
  } catch (error) {
    self.postMessage({ type: "answer", id: data.id, error: shapeOf(error).message });
  }
};

async function convert({ sequence, body, query }) {
  current?.abort();
  const control = new AbortController();
  current = control;
  try {
    const report = JSON.parse(await text(body, `${query}&output=json&include=sides`, control.signal));
    if (control.signal.aborted) return;
    answer = report;
    asked = { body, query };
    self.postMessage({ type: "result", sequence, ...overview(report) });
  } catch (error) {
    if (!control.signal.aborted) self.postMessage({ type: "failed", sequence, error: shapeOf(error) });
  }
}

class Refusal extends Error {
  constructor(shape) {
    super(shape.message);
    this.shape = shape;
  }
}

/** The server's own words, or those for a server that says nothing. */
const shapeOf = (error) =>
  error instanceof Refusal
    ? error.shape
    : {
        code: "network",
        message: "The server does not answer.",
        hint: "Is it still running, and is its port still forwarded? The next change asks again.",
      };

/** The text of an answer; a busy server is asked again. */
async function text(body, query, signal = null) {
  const url = new URL(`../../preview?${query}`, self.location.href);
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url, {
      method: "POST",
      body,
      signal,
      headers: { "Content-Type": "application/yaml" },
    });
    const content = await response.text();
    if (response.ok && !response.headers.get("Content-Type")?.startsWith("text/html")) return content;
    const error = errorOf(content, response);
    if (error.code !== "busy" || tries === TRIES) throw new Refusal(error);
    const seconds = Math.min(Number(response.headers.get("Retry-After")) || 1, 5);
    // Only a conversion shows its progress.
    if (signal !== null) self.postMessage({ type: "busy", seconds });
    await new Promise((resolve) => {
      setTimeout(resolve, seconds * 1000);
    });
    signal?.throwIfAborted();
  }
}

/** The error of an answer; one of a proxy in between has no shape of ours. */
function errorOf(content, response) {
  try {
    const { error } = JSON.parse(content);
    if (typeof error.message === "string") return error;
  } catch {
    // Not JSON, or other JSON.
  }
  const message = `The answer is ${response.status} ${response.statusText}`.trim();
  return {
    code: "unexpected",
    message: `${message}, not one of the preview.`,
    hint: "A proxy in between may have made it.",
  };
}

/** What the list shows of each item. */
function overview({ summary, items, renderings }) {
  const rows = items.map((item, index) => {
    const { line, lastLine } = renderings.sides[index];
    const { kind, name, generateName, namespace, podPath, document } = item.source;
    const [reason] = item.reasons;
    return {
      title: kind === null ? `Document ${document + 1}` : `${kind}/${name ?? generateName ?? "unnamed"}`,
      where: [namespace, podPath && podPath !== "spec.template" ? podPath : null].filter(Boolean).join(" · "),
      outcome: item.outcome,
      warned: item.warnings.length > 0,
      gist: item.outcome === "converted" ? headline(item) : item.outcome === "untouched" ? "" : (reason?.message ?? ""),
      line,
      lastLine,
      problems:
        item.outcome === "denied" || item.outcome === "invalid" ? item.reasons.map((one) => one.line ?? line) : [],
    };
  });
  return { summary, rows };
}

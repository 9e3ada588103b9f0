// Puts the page together.

import { Client } from "./client.js";
import { Detail } from "./detail.js";
import { byId, copy, counted, download, el, toast } from "./dom.js";
import { Editor } from "./editor.js";
import { LIMIT, listFiles, takeFiles } from "./files.js";
import { forgetLink, linkTo, readLink } from "./link.js";
import { Options } from "./options.js";
import { anchor } from "./popover.js";
import { Results } from "./results.js";
import { themeSwitch } from "./scheme.js";

const PAUSE_MS = 350; // of typing, before it is converted
const SPINNER_MS = 250; // a quick answer shows no progress: it would only flicker

let pause = 0;
let spinner = 0;
let scheduled = 0;

const editor = new Editor({ changed: edited, submit: convert });
const options = new Options(convert);
const client = new Client({
  result,
  failed,
  busy: ({ seconds }) => progress(`The server is busy, next try in ${seconds} s`),
});
const detail = new Detail(client, go);
const results = new Results((index, row, byUser) => {
  if (index === null) {
    detail.clear();
    return;
  }
  if (byUser) editor.show(row.line, row.lastLine);
  detail.show(index, row);
});

/** Leads to a line of the editor, which is brought back if it is hidden. */
function go(line, column) {
  widen(false);
  editor.go(line, column);
}

/** Gives all of the page to the results, or half of it back. */
function widen(wide) {
  document.querySelector(".panes").classList.toggle("wide", wide);
  byId("wide").setAttribute("aria-pressed", String(wide));
}

function edited() {
  forgetLink();
  clearTimeout(pause);
  pause = setTimeout(convert, PAUSE_MS);
  clearTimeout(scheduled);
  scheduled = setTimeout(describe, 120);
}

/** What the editor holds, in the line below it. */
function describe() {
  const { text } = editor;
  const empty = text.trim() === "";
  byId("clear").hidden = empty;
  byId("size").textContent = empty ? "Nothing yet" : `${counted(editor.count, "line")}, ${size(text.length)}`;
  listFiles(text, go);
}

const size = (characters) =>
  characters < 1024
    ? counted(characters, "byte")
    : characters < 1024 * 1024
      ? `${Math.round(characters / 1024)} KiB`
      : `${(characters / 1024 / 1024).toFixed(1)} MiB`;

function use(text) {
  forgetLink();
  editor.text = text;
  convert();
}

function convert() {
  clearTimeout(pause);
  describe();
  const { text } = editor;
  if (text.trim() === "") {
    client.cancel();
    finished();
    show({ start: true });
    widen(false);
    editor.problems = [];
    results.clear();
    byId("status").textContent = "";
    return;
  }
  if (text.length > LIMIT) {
    client.cancel();
    failed({ error: { message: "The text has more than 7 MiB.", hint: "Take fewer manifests at a time." } });
    return;
  }
  clearTimeout(spinner);
  spinner = setTimeout(() => progress("Converting"), SPINNER_MS);
  client.convert(text, options.query.toString());
}

function progress(text) {
  clearTimeout(spinner);
  byId("progress").hidden = false;
  byId("progress-text").textContent = text;
}

function finished() {
  clearTimeout(spinner);
  byId("progress").hidden = true;
}

function show({ start = false, problem = false, found = false }) {
  byId("start").hidden = !start;
  byId("problem").hidden = !problem;
  byId("found").hidden = !found;
  byId("all-tools").hidden = !found;
}

function result({ summary, rows }) {
  finished();
  show({ found: rows.length > 0, problem: rows.length === 0 });
  if (rows.length === 0)
    explainProblem({ message: "No document holds anything.", hint: "There are only comments or blank lines." });
  editor.problems = rows.flatMap((row) => row.problems);
  const complete = summary.denied + summary.invalid === 0;
  for (const id of ["copy-all", "download-all"]) {
    byId(id).disabled = !complete;
    byId(id).title = complete ? "" : "Half of it applied is worse than none: correct what is denied or invalid first";
  }
  results.show(summary, rows);
  const counts = Object.entries(summary)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${count} ${word}`);
  byId("status").textContent = `${counted(rows.length, "workload")}: ${counts.join(", ")}`;
}

function failed({ error }) {
  finished();
  show({ problem: true });
  widen(false); // the button that brings the editor back goes with the results
  editor.problems = error.line ? [error.line] : [];
  explainProblem(error);
}

function explainProblem({ message, hint, line, column }) {
  byId("problem").replaceChildren(
    el("p", {}, el("b", { text: message })),
    ...(hint ? [el("p", { text: hint })] : []),
    ...(line
      ? [
          el(
            "p",
            {},
            el("button", {
              type: "button",
              class: "link",
              text: `line ${line}${column ? `, column ${column}` : ""}`,
              onclick: () => go(line, column ?? 1),
            }),
          ),
        ]
      : []),
  );
}

async function example(name) {
  byId("examples").hidePopover();
  const before = editor.text;
  const response = await fetch(new URL(`../examples/${name}.yaml`, import.meta.url)).catch(() => null);
  if (!response?.ok) {
    toast("The server does not answer");
    return;
  }
  const text = await response.text();
  if (editor.text !== before) return; // somebody went on without it
  use(text);
  editor.focus();
}

function offerExamples() {
  const cards = [...byId("cards").querySelectorAll("button")];
  byId("examples").firstElementChild.append(
    ...cards.map((card) =>
      el(
        "li",
        {},
        el("button", {
          type: "button",
          text: card.firstElementChild.textContent,
          onclick: () => example(card.dataset.example),
        }),
      ),
    ),
  );
  for (const card of cards) card.addEventListener("click", () => example(card.dataset.example));
  anchor(byId("examples-button"), byId("examples"));
}

async function copyLink() {
  const address = await linkTo({ manifest: editor.text, ...options.state });
  if (address === null) toast("Too long for a link (30 KB): share the file instead");
  else await copy(address, "Link");
}

async function followLink() {
  const state = await readLink();
  if (state === undefined) toast("This link cannot be read: it is not complete");
  if (!state) return;
  options.state = state;
  editor.text = state.manifest;
  convert();
}

byId("copy-link").addEventListener("click", copyLink);
byId("copy-all").addEventListener("click", () => copy(client.ask("yaml"), "All YAML"));
byId("download-all").addEventListener("click", async () => {
  try {
    download(await client.ask("yaml"), "converted.yaml");
  } catch (error) {
    toast(error.message);
  }
});
byId("clear").addEventListener("click", () => {
  use("");
  editor.focus();
});
byId("wide").addEventListener("click", () => widen(byId("wide").getAttribute("aria-pressed") === "false"));
themeSwitch(byId("theme"));
offerExamples();
takeFiles(use);
addEventListener("hashchange", followLink);
await Promise.all([client.ready, options.load()]);
await followLink();
document.documentElement.dataset.ready = "";

// Backend and settings. The server says which there are; only what was changed is sent.

import { byId, el } from "./dom.js";
import { anchor } from "./popover.js";

export class Options {
  #backend = byId("backend");
  #form = byId("options");
  #settings = byId("settings");
  #badge = byId("options-badge");
  #own = null; // the server's own backend
  #known = new Map(); // settings by key

  /** @param {() => void} changed */
  constructor(changed) {
    anchor(byId("options-button"), this.#form);
    this.#backend.addEventListener("change", changed);
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("change", () => {
      this.#count();
      changed();
    });
    this.#form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.state = { backend: this.#own, set: {} };
      changed();
    });
  }

  /** Reads what there is to choose. Without an answer the server's own settings count, and nothing is offered. */
  async load() {
    const response = await fetch(new URL("../../preview/options", import.meta.url)).catch(() => null);
    const answer = response?.ok ? await response.json().catch(() => null) : null;
    if (!answer?.settings) return;
    const { backends, settings } = answer;
    this.#own = backends.find((one) => one.current)?.name ?? "";
    if (this.#own === "") backends.unshift({ name: "", title: "As this server", description: "", set: {} });
    this.#backend.replaceChildren(
      ...backends.map(({ name, title, description }) => el("option", { value: name, title: description, text: title })),
    );
    this.#backend.value = this.#own;
    // What a backend stands for is chosen with it.
    const bound = new Set(backends.flatMap((one) => Object.keys(one.set)));
    const offered = settings.filter((one) => !bound.has(one.key));
    this.#known = new Map(offered.map((one) => [one.key, one]));
    this.#settings.replaceChildren(...grouped(offered));
    byId("backend-field").hidden = backends.length < 2;
    byId("options-button").hidden = settings.length === 0;
  }

  get state() {
    return { backend: this.#backend.value || null, set: this.#changed() };
  }

  /** Takes what a link holds; names and choices that this server does not know are passed over. */
  set state({ backend, set }) {
    this.#backend.value = [...this.#backend.options].some((one) => one.value === backend) ? backend : this.#own;
    for (const [key, { value }] of this.#known) {
      const input = this.#input(key);
      fill(input, set?.[key] ?? value);
      if (input.selectedIndex === -1) fill(input, value); // a choice of another version
    }
    this.#count();
  }

  /** The query of a request. */
  get query() {
    const { backend, set } = this.state;
    const query = new URLSearchParams();
    if (backend !== null && backend !== this.#own) query.append("backend", backend);
    for (const [key, value] of Object.entries(set)) query.append("set", `${key}=${value}`);
    return query;
  }

  #input(key) {
    return byId(`setting-${key}`);
  }

  #changed() {
    const set = {};
    for (const [key, { value }] of this.#known) {
      const chosen = read(this.#input(key));
      if (chosen !== text(value)) set[key] = chosen;
    }
    return set;
  }

  #count() {
    const changed = this.#changed();
    const count = Object.keys(changed).length;
    this.#badge.hidden = count === 0;
    this.#badge.textContent = count;
    for (const key of this.#known.keys())
      this.#input(key)
        .closest(".setting")
        .classList.toggle("changed", key in changed);
  }
}

/** A value as YAML spells it: JSON is YAML, and a plain word needs no quotes. */
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function read(input) {
  if (input.type === "checkbox") return String(input.checked);
  return input.value.trim() === "" ? "null" : input.value.trim();
}

function fill(input, value) {
  if (input.type === "checkbox") input.checked = text(value) === "true";
  else input.value = text(value) === "null" ? "" : text(value);
}

/** Settings that stand alone, then a drawer for each group of them. */
function grouped(settings) {
  const groups = Map.groupBy(settings, ({ key }) => key.split(".").slice(0, -1).join("."));
  const alone = groups.get("") ?? [];
  groups.delete("");
  return [
    ...alone.map((one) => field(one, one.key)),
    ...[...groups].map(([name, members]) =>
      el(
        "details",
        {},
        el("summary", { text: name }),
        members.map((one) => field(one, one.key.slice(name.length + 1))),
      ),
    ),
  ];
}

function field({ key, description, type, choices, nullable, value }, name) {
  const id = `setting-${key}`;
  const common = { id, "aria-describedby": `${id}-text` };
  let input;
  if (type === "choice") {
    const words = [...(nullable ? [["", "none"]] : []), ...choices.map((one) => [text(one), text(one)])];
    input = el(
      "select",
      common,
      words.map(([word, shown]) => el("option", { value: word, text: shown })),
    );
  } else if (type === "boolean") {
    input = el("input", { ...common, type: "checkbox" });
  } else {
    input = el("input", {
      ...common,
      type: "text",
      inputmode: type === "integer" ? "numeric" : null,
      autocomplete: "off",
      placeholder: nullable ? "none" : null,
    });
  }
  fill(input, value);
  return el(
    "div",
    { class: "setting" },
    el("label", { for: id }, el("code", { text: name }), input),
    el("p", { id: `${id}-text`, text: description }),
  );
}

// One workload: its head, and tabs that are filled when they are first looked at.

import { byId, copy, download, el } from "./dom.js";
import { explanation } from "./explain.js";
import { diffFigure } from "./diffview.js";
import { sourceBlock } from "./source.js";

const TABS = [
  ["explanation", "Explanation"],
  ["yaml", "Converted YAML"],
  ["diff", "Diff"],
  ["json", "JSON"],
];
const QUEUED = "Kueue counts the keys of this object, so it stays as it is; the webhook converts its pods.";
const OPERATOR = "The operator of this kind reads the object, so it stays as it is; the webhook converts its pods.";

export class Detail {
  #box = byId("detail");
  #client;
  #go;
  #tab = "explanation"; // stays from one workload to the next
  #turn = 0; // what comes late for an earlier workload is not shown

  /**
   * @param {Client} client
   * @param {(line: number, column?: number) => void} go  leads to a line of the editor
   */
  constructor(client, go) {
    this.#client = client;
    this.#go = go;
  }

  clear() {
    this.#turn += 1;
    this.#box.replaceChildren();
  }

  async show(index, row) {
    this.#turn += 1;
    const turn = this.#turn;
    const { item, side } = await this.#client.ask("item", index);
    if (turn !== this.#turn) return;
    const views = {
      explanation: () => explanation(item, side.line, stays(item, side), this.#go),
      yaml: () => this.#yaml(item, side),
      diff: async () => this.#diff(item, side, side.after === null ? [] : await this.#client.ask("diff", index)),
      json: () => this.#json(item),
    };
    const panel = el("div", { class: "panel", role: "tabpanel", id: "panel", tabindex: "0" });
    const tabs = el(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Views", onkeydown: (event) => arrows(event, tabs) },
      TABS.map(([name, title]) =>
        el("button", {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": "panel",
          text: title,
          onclick: () => open(name),
        }),
      ),
    );
    const open = async (name) => {
      this.#tab = name;
      for (const tab of tabs.children) {
        const chosen = tab.id === `tab-${name}`;
        tab.setAttribute("aria-selected", String(chosen));
        tab.tabIndex = chosen ? 0 : -1;
      }
      panel.setAttribute("aria-labelledby", `tab-${name}`);
      panel.setAttribute("aria-busy", "true");
      const content = await views[name]();
      if (turn !== this.#turn || name !== this.#tab) return;
      panel.replaceChildren(...content);
      panel.removeAttribute("aria-busy");
      panel.scrollTop = 0;
    };
    await open(this.#tab);
    if (turn !== this.#turn) return;
    const lines = side.line === side.lastLine ? `line ${side.line}` : `lines ${side.line}–${side.lastLine}`;
    this.#box.replaceChildren(
      el(
        "div",
        { class: "detail-head" },
        el("h3", { id: "detail-title", text: row.title }),
        el("span", { class: `chip ${item.outcome}`, text: item.outcome }),
        row.where ? el("span", { class: "where", text: row.where }) : null,
        el("button", {
          type: "button",
          class: "link",
          text: lines,
          "aria-label": `Show ${lines} in the editor`,
          onclick: () => this.#go(side.line),
        }),
      ),
      tabs,
      panel,
    );
  }

  #yaml(item, side) {
    const text = convertedText(side);
    const name = `${item.source.name ?? item.source.generateName ?? "manifest"}.yaml`;
    const what =
      side.after === null
        ? "Nothing changes: this is the manifest as it is."
        : "As kubectl apply takes it: the templates first.";
    return [
      el(
        "div",
        { class: "panel-tools" },
        el("p", { text: stays(item, side) ?? (refused(item) ? "Refused: this is the manifest as it is." : what) }),
        el(
          "div",
          { class: "tools" },
          el("button", { type: "button", text: "Copy YAML", onclick: () => copy(text, "YAML") }),
          el("button", { type: "button", text: "Download", onclick: () => download(text, name) }),
        ),
      ),
      sourceBlock(text, "Converted YAML"),
    ];
  }

  #diff(item, side, rows) {
    const why = stays(item, side);
    if (side.after === null)
      return [el("p", { text: refused(item) ? "Refused, so nothing is changed." : "Nothing changes." })];
    return [
      ...(why === null ? [] : [el("p", { text: why })]),
      diffFigure(rows, why === null ? "The manifest, before and after" : "Its pods, before and after"),
      ...(side.templates === ""
        ? []
        : [
            el("h4", { class: "sub", text: "New beside it" }),
            sourceBlock(side.templates, "ResourceClaimTemplates", "added"),
          ]),
    ];
  }

  #json(item) {
    const text = JSON.stringify(item, null, 2);
    return [
      el(
        "div",
        { class: "panel-tools" },
        el("p", { text: "This item of the PreviewReport, for scripts." }),
        el("button", { type: "button", text: "Copy JSON", onclick: () => copy(text, "JSON") }),
      ),
      sourceBlock(text, "Item of the report"),
    ];
  }
}

/** Why an object is not rewritten although its pods convert; null for those that are. */
const stays = (item, side) =>
  side.subject === "object" ? null : ["Job", "CronJob"].includes(item.source.kind) ? QUEUED : OPERATOR;

const refused = (item) => item.outcome === "denied" || item.outcome === "invalid";

/** Templates and object as one stream, put together as the command line does. */
export function convertedText({ templates, before, after }) {
  const text = after ?? before;
  if (after === null || templates === "") return text;
  return text.startsWith("---") ? templates + text : `${templates}---\n${text}`;
}

function arrows(event, tabs) {
  const all = [...tabs.children];
  const at = all.indexOf(document.activeElement);
  const to = {
    ArrowRight: (at + 1) % all.length,
    ArrowLeft: (at + all.length - 1) % all.length,
    Home: 0,
    End: all.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  all[to].focus();
  all[to].click();
}

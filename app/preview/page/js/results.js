// The list of workloads, its filters, and which of them is shown.

import { appendSliced, byId, counted, el } from "./dom.js";

const STEP = 500; // rows shown at once; more on request
const OUTCOMES = ["converted", "untouched", "denied", "invalid"];
const WARNED = "warned";

export class Results {
  #list = byId("rows");
  #filters = byId("filters");
  #more = byId("more");
  #rows = [];
  #shown = []; // indexes of the rows that pass the filter
  #filter = null;
  #chosen = null; // index of the row that is shown
  #stop = () => {};
  #choose;

  /** @param {(index: ?number, row: ?Object, byUser: boolean) => void} choose */
  constructor(choose) {
    this.#choose = choose;
    this.#list.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.#select(Number(row.dataset.index), { byUser: true });
    });
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#more.firstElementChild.addEventListener("click", () => this.#append());
  }

  /** Shows a new result; the workload that was shown before stays if it is still there. */
  show(summary, rows) {
    const before = this.#chosen === null ? null : this.#rows[this.#chosen];
    this.#rows = rows;
    const counts = { ...summary, [WARNED]: rows.filter((row) => row.warned).length };
    if (this.#filter !== null && counts[this.#filter] === 0) this.#filter = null;
    this.#filters.replaceChildren(
      this.#button(null, "All", rows.length),
      ...OUTCOMES.map((outcome) => this.#button(outcome, outcome, counts[outcome])),
      this.#button(WARNED, "with warnings", counts[WARNED]),
    );
    this.#draw(before);
  }

  /** Forgets what was chosen: what comes next has nothing to do with it. */
  clear() {
    this.#filter = null;
    this.#chosen = null;
  }

  #button(filter, label, count) {
    return el(
      "button",
      {
        type: "button",
        class: `${filter ?? "all"}${count === 0 ? " none" : ""}`,
        "aria-pressed": String(filter === this.#filter),
        disabled: count === 0 && filter !== null,
        onclick: ({ currentTarget }) => {
          this.#filter = filter;
          for (const one of this.#filters.children) one.setAttribute("aria-pressed", String(one === currentTarget));
          this.#draw(this.#rows[this.#chosen]);
        },
      },
      el("b", { text: count.toLocaleString("en") }),
      label,
    );
  }

  #draw(before) {
    this.#stop();
    this.#shown = [...this.#rows.keys()].filter((index) => passes(this.#rows[index], this.#filter));
    this.#list.replaceChildren();
    this.#list.hidden = this.#rows.length < 2;
    this.#list.scrollTop = 0;
    const same = (row) => row.title === before?.title && row.where === before.where;
    const alike = this.#shown.filter((index) => same(this.#rows[index]));
    this.#chosen = (alike.includes(this.#chosen) ? this.#chosen : alike[0]) ?? this.#shown[0] ?? null;
    this.#append(Math.max(STEP, this.#shown.indexOf(this.#chosen) + 1));
    this.#choose(this.#chosen, this.#rows[this.#chosen] ?? null, false);
  }

  #append(count = STEP) {
    if (this.#list.hasAttribute("aria-busy")) return; // the rows before are still being made
    const from = this.#list.querySelectorAll(".row").length;
    const next = this.#shown.slice(from, from + count);
    this.#stop = appendSliced(
      this.#list,
      makers(next, (index) => this.#row(index)),
    );
    const left = this.#shown.length - from - next.length;
    this.#more.hidden = left <= 0;
    this.#more.firstElementChild.textContent = `Show ${Math.min(left, STEP)} more of ${counted(this.#shown.length, "workload")}`;
  }

  #row(index) {
    const { title, where, outcome, gist, warned } = this.#rows[index];
    const chosen = index === this.#chosen;
    return el(
      "div",
      {
        class: "row",
        role: "option",
        "data-index": String(index),
        "aria-selected": String(chosen),
        tabindex: chosen ? "0" : "-1",
      },
      el("span", { class: `chip ${outcome}`, text: outcome }),
      el("span", { class: "title" }, title, where ? el("span", { class: "where", text: where }) : null),
      el("span", { class: "gist" }, warned ? el("span", { class: "flag", text: "warning" }) : null, gist),
    );
  }

  #select(index, { byUser, focus = false }) {
    const rows = [this.#chosen, index].map((one) => this.#list.querySelector(`[data-index="${one}"]`));
    rows[0]?.setAttribute("aria-selected", "false");
    if (rows[0]) rows[0].tabIndex = -1;
    rows[1].setAttribute("aria-selected", "true");
    rows[1].tabIndex = 0;
    if (focus) rows[1].focus();
    this.#chosen = index;
    this.#choose(index, this.#rows[index], byUser);
  }

  #key(event) {
    const rows = [...this.#list.querySelectorAll(".row")];
    const at = rows.findIndex((row) => Number(row.dataset.index) === this.#chosen);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: at + 10,
      PageUp: at - 10,
    }[event.key];
    if (to === undefined || rows.length === 0) return;
    event.preventDefault();
    const row = rows[Math.min(Math.max(to, 0), rows.length - 1)];
    this.#select(Number(row.dataset.index), { byUser: true, focus: true });
  }
}

const passes = (row, filter) => filter === null || (filter === WARNED ? row.warned : row.outcome === filter);

function* makers(indexes, make) {
  for (const index of indexes) yield make(index);
}

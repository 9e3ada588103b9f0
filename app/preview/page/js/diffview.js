// A table of two texts side by side; on narrow screens one below the other.

import { appendSliced, counted, el } from "./dom.js";

const NARROW = matchMedia("(max-width: 900px)");

export function diffFigure(rows, label) {
  const unified = NARROW.matches;
  const changed = rows.filter((row) => row.kind === "change");
  const gone = changed.filter((row) => row.left !== null).length;
  const come = changed.filter((row) => row.right !== null).length;
  const body = el("tbody");
  appendSliced(body, (unified ? stacked : paired)(rows));
  return el(
    "figure",
    { class: "diff" },
    el("figcaption", {}, el("span", { text: label }), el("span", { text: `${counted(gone, "line")} out, ${come} in` })),
    el(
      "table",
      {},
      el(
        "colgroup",
        {},
        unified
          ? [el("col", { class: "number" }), el("col", { class: "number" }), el("col")]
          : [el("col", { class: "number" }), el("col"), el("col", { class: "number" }), el("col")],
      ),
      el(
        "thead",
        { class: "sr" },
        el(
          "tr",
          {},
          unified
            ? ["Line before", "Line after", "Text"].map(head)
            : ["Line before", "Before", "Line after", "After"].map(head),
        ),
      ),
      body,
    ),
  );
}

const head = (text) => el("th", { scope: "col", text });

function* paired(rows) {
  for (const row of rows) {
    if (row.kind === "fold") {
      yield fold(row.rows, 4, paired);
      continue;
    }
    const change = row.kind === "change";
    yield el("tr", {}, half(row.left, change ? "del" : "", false), half(row.right, change ? "add" : "", true));
  }
}

/** Lines that go before those that come, as in a unified diff. */
function* stacked(rows) {
  let come = [];
  for (const row of rows) {
    if (row.kind === "change") {
      if (row.left !== null) yield single(row.left.number, null, row.left, "del");
      if (row.right !== null) come.push(row.right);
      continue;
    }
    yield* come.map((cell) => single(null, cell.number, cell, "add"));
    come = [];
    if (row.kind === "fold") yield fold(row.rows, 3, stacked);
    else yield single(row.left.number, row.right.number, row.left, "");
  }
  yield* come.map((cell) => single(null, cell.number, cell, "add"));
}

const single = (left, right, cell, kind) => el("tr", {}, number(left, kind), number(right, kind), content(cell, kind));

function half(cell, kind, right) {
  const shown = cell === null ? "gap" : kind;
  const cells = [number(cell?.number ?? null, shown), content(cell, shown)];
  if (right) cells[0].classList.add("mid");
  return cells;
}

const number = (value, kind) => el("td", { class: `num ${kind}`.trim(), text: value === null ? "" : String(value) });

const WORDS = { add: "added: ", del: "removed: " };

function content(cell, kind) {
  const parts = cell === null ? [] : cell.parts.map(([changed, text]) => (changed ? el("mark", { text }) : text));
  return el("td", { class: kind }, kind in WORDS ? el("span", { class: "sr", text: WORDS[kind] }) : null, parts);
}

/** A row that stands for unchanged ones, and gives way to them. */
function fold(rows, columns, render) {
  const row = el(
    "tr",
    { class: "fold" },
    el(
      "td",
      { colspan: String(columns) },
      el("button", {
        type: "button",
        text: `Show ${counted(rows.length, "unchanged line")}`,
        onclick: () => row.replaceWith(...render(rows)),
      }),
    ),
  );
  return row;
}

// The explanation: for every container what was read, which rules decided, and what it becomes.

import { counted, el } from "./dom.js";

/**
 * @param {Object} item  of the report
 * @param {number} line  of the item in the editor, for reasons that have none
 * @param {?string} stays  why the object is not rewritten although its pods convert
 * @param {(line: number, column?: number) => void} go  leads there
 */
export function explanation(item, line, stays, go) {
  const parts = [];
  if (item.outcome !== "converted")
    parts.push(...item.reasons.map((reason) => because(item, reason, reason.line ?? line, go)));
  if (item.explanation?.length > 0) parts.push(table(item.explanation));
  if (stays) parts.push(el("div", { class: "callout" }, el("p", { text: stays })));
  parts.push(
    ...item.warnings.map((text) =>
      el("div", { class: "callout warn" }, el("p", {}, el("b", { text: "Warning: " }), text)),
    ),
  );
  parts.push(...now(item));
  return parts;
}

function because(item, reason, line, go) {
  const bad = item.outcome === "denied" || item.outcome === "invalid";
  const place = `line ${line}${reason.column ? `, column ${reason.column}` : ""}`;
  return el(
    "div",
    { class: `callout ${bad ? "bad" : ""}`.trim() },
    el(
      "p",
      {},
      bad ? el("b", { text: `${item.outcome === "denied" ? "Denied" : "Cannot be used"}: ` }) : null,
      reason.message,
    ),
    reason.hint ? el("p", { text: reason.hint }) : null,
    bad
      ? el(
          "p",
          { class: "place" },
          el("button", { type: "button", class: "link", text: place, onclick: () => go(line, reason.column ?? 1) }),
          reason.path ? [" · ", el("code", { text: reason.path })] : null,
          " · ",
          el("code", { text: reason.code }),
        )
      : null,
  );
}

function table(rows) {
  return el(
    "table",
    { class: "explain" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["Container", "Read", "Rule and why", "Becomes"].map((text) => el("th", { scope: "col", text })),
      ),
    ),
    el("tbody", {}, claims(rows).map(claim)),
  );
}

/** Rows of one claim each: a container has one for each driver, and a rule is named once for each claim and setting. */
function claims(rows) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    const more =
      last?.[0].container === row.container &&
      last[0].role === row.role &&
      last.every((one) => one.rule !== row.rule || one.setting?.name !== row.setting?.name);
    if (more) last.push(row);
    else found.push([row]);
  }
  return found;
}

function claim(rows) {
  const [{ container, role }] = rows; // null for the pod itself
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      container ?? "the pod",
      role && role !== "container" ? el("span", { class: "role", text: role }) : null,
    ),
    el(
      "td",
      { class: "read" },
      rows.flatMap((row) => row.read).map((text) => el("code", { text })),
    ),
    el(
      "td",
      {},
      el(
        "ul",
        { class: "rules" },
        rows.map((row) =>
          el(
            "li",
            {},
            el("span", { class: "rule", text: row.rule }),
            el("span", {}, row.because, setting(row.setting)),
          ),
        ),
      ),
    ),
    el(
      "td",
      { class: "becomes" },
      el(
        "ul",
        {},
        rows.flatMap((row) => row.becomes).map((text) => el("li", { text })),
      ),
    ),
  );
}

function setting(one) {
  if (!one) return null;
  const value = typeof one.value === "string" ? one.value : JSON.stringify(one.value);
  return el("span", { class: "setting-read" }, " · ", el("code", { text: `${one.name}: ${value}` }));
}

/** What the cluster has for it at this moment, where that is known. */
function now(item) {
  const lines = (item.matches ?? []).map((one) => {
    const text = `${one.claim}: request ${one.request} matches ${counted(one.devices, "device")}, enough on ${counted(one.nodes, "node")}`;
    return one.error ? `${text}; ${one.error}` : text;
  });
  if (item.fit?.now) lines.push(`Fits now on ${counted(item.fit.nodes, "node")}: ${item.fit.nodeNames.join(", ")}`);
  else if (item.fit)
    lines.push(`${item.fit.now === false ? "Fits nowhere now" : "Not known whether it fits now"}: ${item.fit.why}`);
  if (lines.length === 0) return [];
  return [
    el(
      "div",
      { class: "callout" },
      el("p", {}, el("b", { text: "In this cluster" })),
      lines.map((text) => el("p", { text })),
    ),
  ];
}

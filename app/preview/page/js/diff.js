// Two texts side by side: which lines go, come and change, and what changes within a line. Runs in the worker.

import { diffArrays } from "../vendor/diff/array.js";

const CONTEXT = 3; // unchanged lines shown around a change
const PATIENCE_MS = 3000; // for the shortest way from one text to the other; without it, all is shown as replaced
const LONGEST = 1000; // characters of lines whose words are compared
const ALIKE = 0.5; // share of a line that stays, from which its words are compared, also without a common key

/**
 * Rows of a table.
 * @returns {Array<{kind: "same", left: Cell, right: Cell} | {kind: "change", left: ?Cell, right: ?Cell} |
 *   {kind: "fold", rows: Array}>} a cell is `{number, parts}`, a part is `[changed, text]`
 */
export function sideBySide(before, after) {
  const left = linesOf(before);
  const right = linesOf(after);
  const changes = diffArrays(left, right, { timeout: PATIENCE_MS }) ?? [
    { removed: true, value: left },
    { added: true, value: right },
  ];
  const rows = [];
  const at = { left: 0, right: 0 };
  for (let index = 0; index < changes.length; index += 1) {
    const change = changes[index];
    const next = changes[index + 1];
    if (!change.removed && !change.added) {
      rows.push(
        ...folded(
          change.value.map((text) => same(text, at)),
          index > 0,
          next !== undefined,
        ),
      );
    } else if (change.removed && next?.added) {
      rows.push(...replaced(change.value, next.value, at));
      index += 1;
    } else if (change.removed) {
      rows.push(...replaced(change.value, [], at));
    } else {
      rows.push(...replaced([], change.value, at));
    }
  }
  return rows;
}

const linesOf = (text) => (text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/));

function same(text, at) {
  const parts = [[false, text]];
  return { kind: "same", left: { number: ++at.left, parts }, right: { number: ++at.right, parts } };
}

/** Unchanged rows, all but those next to a change put away. */
function folded(rows, changedBefore, changedBehind) {
  const head = changedBefore ? CONTEXT : 0;
  const tail = changedBehind ? CONTEXT : 0;
  if (rows.length <= head + tail + 1) return rows;
  const hidden = rows.slice(head, rows.length - tail);
  return [...rows.slice(0, head), { kind: "fold", rows: hidden }, ...rows.slice(rows.length - tail)];
}

/** Lines against lines. Those alike stand next to each other, in the order of both. */
function replaced(old, young, at) {
  const rows = [];
  let next = 0;
  for (const line of old) {
    const found = young.findIndex((other, index) => index >= next && words(line, other) !== null);
    for (; found >= 0 && next < found; next += 1)
      rows.push({ kind: "change", left: null, right: whole(young[next], at, "right") });
    const parts = found >= 0 ? words(line, young[found]) : null;
    rows.push({
      kind: "change",
      left: parts === null ? whole(line, at, "left") : { number: ++at.left, parts: parts.left },
      right: parts === null ? null : { number: ++at.right, parts: parts.right },
    });
    if (found >= 0) next = found + 1;
  }
  for (; next < young.length; next += 1)
    rows.push({ kind: "change", left: null, right: whole(young[next], at, "right") });
  return joined(rows);
}

/** Lines that only go, next to lines that only come, share rows. */
function joined(rows) {
  const result = [];
  let open = 0;
  for (const row of rows) {
    if (row.left !== null && row.right === null) {
      result.push(row);
    } else if (row.left === null) {
      while (open < result.length && result[open].right !== null) open += 1;
      if (open < result.length) result[open].right = row.right;
      else result.push(row);
    } else {
      result.push(row);
      open = result.length;
    }
  }
  return result;
}

const whole = (text, at, side) => ({ number: ++at[side], parts: [[false, text]] });

/** What changes within a line; null where too little of it stays. */
function words(line, other) {
  if (line.length > LONGEST || other.length > LONGEST) return null;
  const tokens = (text) => text.match(/\s+|[\w-]+|[^\s\w-]/g) ?? [];
  const changes = diffArrays(tokens(line), tokens(other));
  const left = [];
  const right = [];
  let kept = 0;
  for (const change of changes) {
    const text = change.value.join("");
    if (!change.added) left.push([Boolean(change.removed), text]);
    if (!change.removed) right.push([Boolean(change.added), text]);
    if (!change.added && !change.removed) kept += text.trim().length;
  }
  const longer = Math.max(line.trim().length, other.trim().length);
  return keyOf(line) === keyOf(other) || kept / longer >= ALIKE ? { left, right } : null;
}

/** The key that a line starts with, with its indentation; without one, something that equals nothing. */
const keyOf = (line) => /^[\s-]*["']?[\w./-]+["']?:/.exec(line)?.[0] ?? NaN;

// The editor: a plain textarea, so that everything the browser knows of text works, with line numbers, colours and marks.
//
// Browsers lay out all lines of a textarea at once, which takes them too long for thousands. So it holds only the lines
// around those in sight, and moves along.

import { byId } from "./dom.js";
import { takeKeys } from "./keys.js";
import { Lines } from "./lines.js";
import { painted, painter } from "./yaml.js";

const ROW = 20; // pixels, as --row
const HELD = 800; // lines in the textarea
const AROUND = 24; // lines painted beyond those in sight, so that scrolling does not outrun the painter
const LOOK_BACK = 60; // lines read before the first painted one, to know of a block scalar around it
const UNSELECTS = /^(Arrow.*|Home|End|Page.*)$/; // keys that end a selection of all
const PASTED = 20_000; // characters; longer pastes go into the text at once, past the textarea

export class Editor {
  #box = byId("editor");
  #sheet = byId("sheet");
  #gutter = byId("gutter");
  #paint = byId("paint");
  #area = byId("manifests");
  #lines = new Lines("");
  #from = 0; // lines that the textarea holds, the last one not included
  #to = 1;
  #all = false; // all of the text is selected, not only what the textarea holds
  #left = null; // the selection that was left behind when the textarea moved on
  #problems = new Set();
  #near = null;
  #waiting = false;
  #changed;

  /** @param {{changed: () => void, submit: () => void}} on */
  constructor(on) {
    this.#changed = on.changed;
    this.#area.addEventListener("keydown", (event) => this.#move(event));
    takeKeys(this.#area, on.submit);
    this.#area.addEventListener("beforeinput", (event) => this.#before(event));
    this.#area.addEventListener("input", () => this.#typed());
    this.#area.addEventListener("paste", (event) => this.#paste(event));
    for (const type of ["copy", "cut"]) this.#area.addEventListener(type, (event) => this.#copy(event));
    this.#area.addEventListener("pointerdown", () => {
      this.#all = false;
      this.#left = null;
    });
    document.addEventListener("selectionchange", () => this.#follow());
    this.#box.addEventListener("scroll", () => this.#later(), { passive: true });
    new ResizeObserver(() => this.#later()).observe(this.#box);
    document.documentElement.classList.add("painted");
    this.#size();
  }

  get text() {
    return this.#lines.text;
  }

  set text(text) {
    this.#problems.clear();
    this.#put(text, 0);
    this.#box.scrollTo(0, 0);
  }

  get count() {
    return this.#lines.count;
  }

  /** The textarea holds less than all of the text. */
  get #partial() {
    return this.#from > 0 || this.#to < this.count;
  }

  focus() {
    this.#area.focus();
  }

  /** Marks lines that something is wrong with. */
  set problems(lines) {
    this.#problems = new Set(lines);
    this.#later();
  }

  /** Shades the lines of a workload, and shows the first of them. */
  show(first, last) {
    this.#near = [first, last];
    const top = (first - 1) * ROW;
    const { scrollTop, clientHeight } = this.#box;
    if (top < scrollTop || top > scrollTop + clientHeight - 3 * ROW) this.#box.scrollTop = top - ROW;
    this.#later();
  }

  /** Puts the caret at a position, counted from 1, and selects the rest of that line. */
  go(line, column = 1) {
    this.#all = false;
    const index = Math.min(line, this.count) - 1;
    this.#box.scrollTo(0, Math.max(index * ROW - this.#box.clientHeight / 3, 0));
    this.#box.scrollIntoView({ block: "nearest" });
    this.#hold(index);
    this.#area.focus({ preventScroll: true });
    this.#select(Math.min(this.#lines.start(index) + column - 1, this.#lines.end(index)), this.#lines.end(index));
    this.#later();
  }

  /** A whole new text. */
  #put(text, caret) {
    this.#near = null;
    this.#all = false;
    this.#left = null;
    this.#lines = new Lines(text.replaceAll("\r\n", "\n"));
    this.#size();
    this.#hold(this.#lines.at(caret), true);
    this.#select(caret, caret);
  }

  #size() {
    const { style } = this.#sheet;
    style.setProperty("--lines", this.count);
    style.setProperty("--columns", this.#lines.columns);
    style.setProperty("--digits", Math.max(String(this.count).length, 2));
    this.#place();
    this.#later();
  }

  #place() {
    this.#area.style.setProperty("--top", this.#from);
    this.#area.style.setProperty("--held", this.#to < this.count ? this.#to - this.#from : this.count - this.#from + 2);
  }

  /** Lets the textarea hold the lines around one of them. */
  #hold(index, anew = false) {
    const from = this.count <= HELD ? 0 : Math.max(Math.min(index - HELD / 2, this.count - HELD), 0);
    const to = Math.min(from + HELD, this.count);
    if (!anew && from === this.#from && to === this.#to) return;
    const before = anew ? null : this.#selection();
    [this.#from, this.#to] = [from, to];
    this.#place();
    this.#area.value = this.text.slice(this.#lines.start(from), this.#lines.end(to - 1));
    if (before !== null && !this.#select(...before)) this.#left ??= before;
  }

  /** The selection in the whole text. */
  #selection() {
    const base = this.#lines.start(this.#from);
    return this.#left ?? [base + this.#area.selectionStart, base + this.#area.selectionEnd];
  }

  /** Selects a part of the whole text, if the textarea holds it. */
  #select(start, end) {
    const base = this.#lines.start(this.#from);
    if (start < base || end > this.#lines.end(this.#to - 1)) return false;
    this.#left = null;
    this.#area.setSelectionRange(start - base, end - base);
    return true;
  }

  #typed() {
    const before = this.text.slice(0, this.#lines.start(this.#from));
    const behind = this.text.slice(this.#lines.end(this.#to - 1));
    const count = this.count;
    this.#lines = new Lines(before + this.#area.value + behind);
    this.#to += this.count - count;
    this.#near = null;
    this.#size();
    this.#changed();
  }

  #before(event) {
    if (!this.#all || !this.#partial || event.inputType.startsWith("history")) return;
    event.preventDefault();
    const text = event.inputType === "insertLineBreak" ? "\n" : (event.data ?? "");
    this.#put(text, text.length);
    this.#changed();
  }

  #paste(event) {
    const pasted = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    const whole = this.#all && this.#partial;
    if (pasted.length < PASTED && !whole) return;
    event.preventDefault();
    const [start, end] = whole ? [0, this.text.length] : this.#selection();
    this.#put(this.text.slice(0, start) + pasted + this.text.slice(end), start + pasted.length);
    this.#changed();
  }

  #copy(event) {
    if (!this.#all || !this.#partial) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", this.text);
    if (event.type === "cut") {
      this.#put("", 0);
      this.#changed();
    }
  }

  /** Keys that lead beyond what the textarea holds; any other one goes on where the caret was left. */
  #move(event) {
    if (["Control", "Meta", "Shift", "Alt"].includes(event.key)) return;
    const command = event.ctrlKey || event.metaKey;
    if (command && ["c", "x", "v"].includes(event.key)) return;
    if (command && event.key === "a") this.#all = true;
    else if (UNSELECTS.test(event.key)) this.#all = false;
    if (!this.#partial) return;
    if (command && !event.shiftKey && (event.key === "Home" || event.key === "End")) {
      event.preventDefault();
      const offset = event.key === "Home" ? 0 : this.text.length;
      this.#left = null;
      this.#reveal(offset, offset);
    } else if (this.#left !== null && !command) {
      this.#reveal(...this.#left);
    }
  }

  #reveal(start, end) {
    const index = this.#lines.at(start);
    this.#hold(index);
    this.#select(start, end);
    const top = index * ROW;
    const { scrollTop, clientHeight } = this.#box;
    if (top < scrollTop || top > scrollTop + clientHeight - ROW) this.#box.scrollTop = top - clientHeight / 2;
  }

  /** Moves the textarea along with a caret that comes near its end. */
  #follow() {
    if (!this.#partial || this.#all || this.#left !== null || document.activeElement !== this.#area) return;
    const [start, end] = this.#selection();
    if (start !== end) return;
    const index = this.#lines.at(start);
    const close =
      (this.#from > 0 && index < this.#from + AROUND) || (this.#to < this.count && index > this.#to - AROUND);
    if (close) this.#hold(index);
  }

  #later() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#draw();
    });
  }

  #draw() {
    const first = Math.max(Math.floor(this.#box.scrollTop / ROW) - AROUND, 0);
    const last = Math.min(Math.ceil((this.#box.scrollTop + this.#box.clientHeight) / ROW) + AROUND, this.count);
    if (first < this.#from || last > this.#to) this.#hold((first + last) >> 1);
    const paint = painter();
    const numbers = document.createDocumentFragment();
    const lines = document.createDocumentFragment();
    for (let index = Math.max(first - LOOK_BACK, 0); index < last; index += 1) {
      const line = this.#lines.line(index);
      if (index < first) {
        paint(line);
        continue;
      }
      const bad = this.#problems.has(index + 1);
      const near = this.#near !== null && index + 1 >= this.#near[0] && index + 1 <= this.#near[1];
      lines.append(placed(index, bad ? "bad" : near ? "near" : "", ...painted(paint, line)));
      numbers.append(placed(index, bad ? "bad" : "", String(index + 1)));
    }
    this.#paint.replaceChildren(lines);
    this.#gutter.replaceChildren(numbers);
  }
}

function placed(index, kind, ...children) {
  const line = document.createElement("div");
  if (kind) line.className = kind;
  line.style.top = `${index * ROW}px`;
  line.append(...children);
  return line;
}

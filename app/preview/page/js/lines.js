// A text and where its lines start.

const WIDE = /[\u1100-\u11ff\u2e80-\uffef]/; // characters that may take two columns

const WIDEST = 10_000; // columns; what stands further right in a line is not shown

export class Lines {
  /** One pass over the text: a few milliseconds for megabytes. */
  constructor(text) {
    this.text = text;
    this.starts = [0];
    let longest = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      longest = Math.max(longest, at - this.starts.at(-1));
      this.starts.push(at + 1);
    }
    /** Columns that hold every line. */
    this.columns = Math.min(
      (text.includes("\t") || WIDE.test(text) ? 2 : 1) * Math.max(longest, text.length - this.starts.at(-1)),
      WIDEST,
    );
  }

  get count() {
    return this.starts.length;
  }

  /** Where a line starts, counted from 0; its end without the line break is the start of the next, less one. */
  start(index) {
    return this.starts[index];
  }

  end(index) {
    return index + 1 < this.count ? this.starts[index + 1] - 1 : this.text.length;
  }

  /** A line as it is shown. */
  line(index) {
    return this.text.slice(this.starts[index], Math.min(this.end(index), this.starts[index] + WIDEST));
  }

  /** The line that holds an offset. */
  at(offset) {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

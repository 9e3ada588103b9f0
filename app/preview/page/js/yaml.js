// Colours for YAML and JSON, line by line: good enough for eyes, and cheap enough for lines that scroll by.

const LONGEST = 2000; // characters of a line; longer ones stay plain

const TOKENS = [
  [/\s+/y, ""],
  [/(?<![^\s])#.*/y, "c"],
  [/(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=\s*:(?:\s|$))/y, "k"],
  [/"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?/y, "s"],
  [/(?:---|\.\.\.)(?=\s|$)|-(?=\s|$)|[{}[\],]|:(?=\s|$)/y, "p"],
  [/[^\s{}[\],"'#:][^\s{}[\],]*?(?=:(?:\s|$))/y, "k"],
  [/[&*!][^\s,\]}]+/y, "p"],
  [/[|>][-+0-9]*(?=\s|$)/y, "p"],
];
const PLAIN = /[^\s].*?(?=,?\s*$|\s+#)/y; // a scalar without quotes, up to the end of the line or a comment
const PLAIN_IN_FLOW = /[^\s{}[\],][^{}[\],]*?(?=\s*[{}[\],]|\s*$|\s+#)/y;
const NOT_TEXT = /^(?:true|false|null|~|[-+]?\d[\d.]*(?:[eE][-+]?\d+)?(?:m|[kKMGTPE]i?)?)$/;
const OPENS_BLOCK = /(?:^|[:\-\s])[|>][-+0-9]*\s*(?:#.*)?$/;

const indentOf = (line) => line.length - line.trimStart().length;

/**
 * A painter that remembers whether it is inside a block scalar from one line to the next.
 * @returns {(line: string) => [string, string][]} class and text of each token
 */
export function painter() {
  let block = null; // indentation of the line that opened a block scalar
  return (line) => {
    if (line.length > LONGEST) return [["", line]];
    if (block !== null) {
      if (line.trim() === "" || indentOf(line) > block) return [["s", line]];
      block = null;
    }
    if (OPENS_BLOCK.test(line) && !line.trimStart().startsWith("#")) block = indentOf(line);
    return tokens(line);
  };
}

function tokens(line) {
  const found = [];
  let depth = 0; // of braces and brackets
  for (let at = 0; at < line.length;) {
    const [kind, text] = token(line, at, depth > 0);
    depth += "{[".includes(text) - "]}".includes(text);
    found.push([kind, text]);
    at += text.length;
  }
  return found;
}

function token(line, at, inFlow) {
  for (const [pattern, kind] of TOKENS) {
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (match) return [kind, match[0]];
  }
  const plain = inFlow ? PLAIN_IN_FLOW : PLAIN;
  plain.lastIndex = at;
  const text = plain.exec(line)?.[0] ?? line[at];
  return [NOT_TEXT.test(text) ? "n" : "", text];
}

/** A painted line as nodes. */
export function* painted(paint, line) {
  for (const [kind, text] of paint(line)) {
    if (kind === "") yield document.createTextNode(text);
    else {
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = text;
      yield span;
    }
  }
}

// Keys of a textarea that holds YAML: Tab and Enter indent, and nobody is caught in it.

/**
 * @param {HTMLTextAreaElement} area
 * @param {() => void} submit  for Ctrl+Enter
 */
export function takeKeys(area, submit) {
  let typing = false; // who comes by with the Tab key goes on with it; who types indents
  area.addEventListener("input", () => {
    typing = true;
  });
  area.addEventListener("pointerdown", () => {
    typing = true;
  });
  area.addEventListener("blur", () => {
    typing = false;
  });
  area.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") {
      typing = false;
    } else if (event.key === "Tab" && typing && plain) {
      event.preventDefault();
      indent(area, event.shiftKey);
    } else if (event.key === "Enter" && plain && !event.shiftKey && !event.isComposing) {
      const before = area.value.slice(0, area.selectionStart);
      const [spaces] = /^ */.exec(before.slice(before.lastIndexOf("\n") + 1));
      if (spaces !== "") {
        event.preventDefault();
        type(`\n${spaces}`);
      }
    }
  });
}

function indent(area, out) {
  const { selectionStart: start, selectionEnd: end, value } = area;
  const from = value.lastIndexOf("\n", start - 1) + 1;
  const chosen = value.slice(from, end);
  if (!out && !chosen.includes("\n")) {
    type("  ");
    return;
  }
  const changed = out ? chosen.replace(/^ {1,2}/gm, "") : chosen.replace(/^(?=.)/gm, "  ");
  area.setSelectionRange(from, end);
  type(changed);
  area.setSelectionRange(from, from + changed.length);
}

/** Types a text as the user would: the only way that undo remembers it. */
function type(text) {
  document.execCommand(text === "" ? "delete" : "insertText", false, text);
}

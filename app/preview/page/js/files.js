// Files and folders, opened or dropped, become one text: a comment above each document says where it is from.

import { byId, counted, el, toast } from "./dom.js";

const MANIFEST = /\.(ya?ml|json)$/i;
export const LIMIT = 7 * 1024 * 1024; // bytes, as the server's
const MARK = /^# file: (.+)$/gm;

/** Takes files from the button, and from whatever is dropped on the page. */
export function takeFiles(use) {
  const input = byId("file");
  const zone = byId("dropzone");
  const read = async (files) => {
    try {
      const text = await joined(await files);
      if (text !== null) use(text);
    } catch (error) {
      toast(`The browser cannot read this: ${error.message}`);
    }
  };
  byId("open").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await read([...input.files].map((file) => ({ path: file.name, file })));
    input.value = "";
  });
  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    zone.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.hidden = true;
  });
  addEventListener("drop", async (event) => {
    zone.hidden = true;
    if (!holdsFiles(event)) return;
    event.preventDefault();
    await read(dropped(event.dataTransfer));
  });
}

/** Shows the files that a text is made of; each leads to its first line. */
export function listFiles(text, go) {
  const list = byId("files");
  const found = [...text.matchAll(MARK)];
  list.hidden = found.length === 0;
  let line = 1;
  let at = 0;
  list.replaceChildren(
    ...found.map((match) => {
      for (let next = text.indexOf("\n", at); next >= 0 && next < match.index; next = text.indexOf("\n", at)) {
        line += 1;
        at = next + 1;
      }
      const target = line;
      return el("li", {}, el("button", { type: "button", text: match[1], onclick: () => go(target) }));
    }),
  );
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const found = [];
  for (const entry of entries) found.push(...(await walk(entry, entry.isFile)));
  return found.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** The files of a folder that may be manifests; a file that was named itself is taken in any case. */
async function walk(entry, named) {
  if (entry.isFile) {
    if (!named && !MANIFEST.test(entry.name)) return [];
    const file = await new Promise((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ path: entry.fullPath.replace(/^\//, ""), file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // a reader gives a folder's entries by the hundred
    const entries = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (entries.length === 0) return found;
    for (const one of entries) found.push(...(await walk(one, false)));
  }
}

async function joined(files) {
  if (files.length === 0) {
    toast("No .yaml, .yml or .json file in it");
    return null;
  }
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (size > LIMIT) {
    toast(
      `${counted(files.length, "file")} with ${(size / 1024 / 1024).toFixed(1)} MiB; a preview takes at most 7 MiB. Take fewer at a time.`,
    );
    return null;
  }
  const texts = [];
  for (const { path, file } of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes.includes(0)) {
      toast(`${path} is no text`);
      return null;
    }
    try {
      texts.push({ path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) });
    } catch {
      toast(`${path} is not UTF-8: save it as UTF-8`);
      return null;
    }
  }
  if (texts.length === 1) return texts[0].text;
  return texts
    .map(({ path, text }) => `---\n# file: ${path}\n${text.replace(/^---[ \t]*\r?\n/, "").replace(/\n?$/, "\n")}`)
    .join("")
    .slice(4);
}

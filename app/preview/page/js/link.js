// A link that holds the manifests: compressed, in the fragment, which browsers never send to a server.

const NAME = "#preview=";
const LONGEST = 30 * 1024; // characters; more is cut by chats, mails and some browsers
const EXPANDED = 7 * 1024 * 1024; // bytes; a link that grows beyond what a preview takes is none of ours

/**
 * @param {{manifest: string, backend: ?string, set: Object<string, string>}} state
 * @returns {Promise<?string>} the address; null when it would be too long
 */
export async function linkTo(state) {
  const packed = through(new Blob([JSON.stringify(state)]), new CompressionStream("deflate-raw"), LONGEST);
  const bytes = await packed.catch(() => null);
  if (bytes === null) return null;
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const text = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return text.length > LONGEST ? null : `${location.href.split("#")[0]}${NAME}${text}`;
}

/** What the address of this page holds; null when it is nothing, undefined when it cannot be read. */
export async function readLink() {
  if (!location.hash.startsWith(NAME)) return null;
  try {
    const binary = atob(location.hash.slice(NAME.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const text = await through(new Blob([bytes]), new DecompressionStream("deflate-raw"), EXPANDED);
    const state = JSON.parse(new TextDecoder().decode(text));
    return typeof state.manifest === "string" ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Takes the fragment out of the address, once the text is no longer that of the link. */
export function forgetLink() {
  if (location.hash.startsWith(NAME)) history.replaceState(null, "", location.href.split("#")[0]);
}

async function through(blob, stream, limit) {
  const reader = blob.stream().pipeThrough(stream).getReader();
  const chunks = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > limit) throw new RangeError("too large");
    chunks.push(next.value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

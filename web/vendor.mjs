// Copies what the page uses of its libraries, unchanged, and writes down what was copied.
//
//   cd web && npm ci --ignore-scripts && npm run vendor
//
// tests/browser/test_vendored.py holds the copies to the record, and the record to package-lock.json.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const HERE = import.meta.dirname;
const TARGET = join(HERE, "../app/preview/page/vendor");
const LIBRARIES = { diff: ["libesm/diff/array.js", "libesm/diff/base.js", "LICENSE"] };

const { packages } = JSON.parse(readFileSync(join(HERE, "package-lock.json")));
const record = [];
rmSync(TARGET, { recursive: true, force: true });
for (const [name, files] of Object.entries(LIBRARIES)) {
  const { version, integrity } = packages[`node_modules/${name}`];
  record.push(`# ${name} ${version} ${integrity}`);
  mkdirSync(join(TARGET, name), { recursive: true });
  for (const file of files) {
    const to = join(TARGET, name, basename(file));
    copyFileSync(join(HERE, "node_modules", name, file), to);
    record.push(`${createHash("sha256").update(readFileSync(to)).digest("hex")}  ${name}/${basename(file)}`);
  }
}
writeFileSync(join(TARGET, "SHA256SUMS"), `${record.join("\n")}\n`);

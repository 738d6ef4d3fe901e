/** Rules for single lines of the sources. */
import { deepStrictEqual } from "node:assert/strict";

const src = new URL("../../src/", import.meta.url);

interface Line {
  readonly path: string;
  readonly text: string;
}

async function linesOf(folder: URL): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const entry = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) lines.push(...await linesOf(entry));
    else if (name.endsWith(".ts")) {
      const path = entry.href.slice(src.href.length);
      const texts = (await Deno.readTextFile(entry)).split("\n");
      lines.push(
        ...texts.filter((text) => !/^\s*(?:\/?\*|\/\/)/.test(text)).map((text) => ({ path, text })),
      );
    }
  }
  return lines;
}

const lines = await linesOf(src);

Deno.test("statements name what they add to a request's names by ownName() alone", () => {
  const named = /\bas "?svc[_:]|ident\([`"]svc[_:]|["'`]svc:[a-z]/;
  const found = lines.filter(({ path, text }) =>
    path.startsWith("api/") && named.test(text) || /\bas "?svc[_:]/.test(text)
  );
  deepStrictEqual(found, []);
  // Other names with this prefix are names of savepoints, and a key of results.
  const others = lines.filter(({ path, text }) => path.startsWith("api/") && /\bsvc_\w/.test(text));
  deepStrictEqual(
    others.map(({ text }) => text.match(/svc_\w+/)![0]),
    ["svc_operation", "svc_operation"],
  );
});

/** Modules that read files or bodies, in which a byte order mark is not a part of the text. */
const ofFiles = [
  "api/request/body/json_scanner.ts",
  "api/request/utf8.ts",
  "base/lib/files.ts",
  "process/cli/sql.ts",
  "state/auth/fetch_document.ts",
  "state/auth/keys.ts",
  "state/config/jwt_issuers.ts",
  "state/config/load.ts",
  "state/config/secret.ts",
  "wings/audit/init/run_init.ts",
  "wings/console/pages/session.ts",
  "wings/console/server/console_files.ts",
  "wings/tenants/tenants.ts",
];

Deno.test("a decoder of names or values keeps a byte order mark", () => {
  const dropping = lines.filter(({ text }) =>
    text.includes("new TextDecoder(") && !text.includes("ignoreBOM: true")
  );
  deepStrictEqual([...new Set(dropping.map(({ path }) => path))].toSorted(), ofFiles);
});

import { deepStrictEqual } from "node:assert/strict";
import { camelCase } from "../../src/state/config/names.ts";
import { rowsOf } from "../../src/state/config/options.ts";
import { wingOptions } from "../../src/process/wings.ts";

const root = new URL("../../", import.meta.url);

/** Options that only `src/state/config/` reads. */
const usedByConfig: ReadonlySet<string> = new Set([
  "db-pre-config",
  "jwt-secret-is-base64",
]);

async function sourcesIn(folder: URL): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const entry = new URL(isDirectory ? `${name}/` : name, folder);
    if (entry.pathname.endsWith("/src/state/config/")) continue;
    if (isDirectory) texts.push(...await sourcesIn(entry));
    else if (name.endsWith(".ts")) texts.push(await Deno.readTextFile(entry));
  }
  return texts;
}

Deno.test("code reads each option", async () => {
  const texts = [
    ...await sourcesIn(new URL("src/", root)),
    await Deno.readTextFile(new URL("main.ts", root)),
  ];
  const words = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
  const keys = rowsOf({ wingOptions }).map(([key]) => key);
  const unusedKeys = keys.filter((key) => !words.has(camelCase(key)) && !usedByConfig.has(key));
  deepStrictEqual(unusedKeys, []);
});

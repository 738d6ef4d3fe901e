/** Writes the files of the console: `deno task build:console` makes `dist/console`, which the
 * executable and the npm package contain. @module */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole } from "../../src/wings/console/server/console_files.ts";
import type { ConsoleFiles } from "../../src/wings/console/server/console_files.ts";

const defaultFolder = fileURLToPath(new URL("../../dist/console", import.meta.url));

/** Replaces the folder by a new one with the files of the console. */
export async function writeConsole(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  for (const [name, text] of nameByContent(await buildConsole())) {
    await Deno.writeTextFile(join(folder, name), text);
  }
}

/**
 * Returns the files under names that are the same on every machine. The bundler's names depend on
 * paths. A name has a hash of all files, because browsers cache files that contain names of files.
 */
function nameByContent(files: ConsoleFiles): ReadonlyMap<string, string> {
  const hashed = /\b([a-z_]+)-[0-9A-Za-z]{8,12}(?=\.(?:js|css)\b)/g;
  const named = new Set(Array.from(files.keys(), (name) => name.replace(/\.\w+$/, "")));
  const rename = (text: string, nameOf: (name: string, stem: string) => string) =>
    text.replace(hashed, (name, stem) => named.has(name) ? nameOf(name, stem) : name);
  const texts = Array.from(
    files,
    ([name, bytes]) => [name, new TextDecoder().decode(bytes)] as const,
  );
  const plain = new Map(texts.map(([name, text]) => [name, rename(text, (_, stem) => stem)]));
  const all = Array.from(plain.values()).sort().join("");
  const names = new Map(Array.from(plain, ([name, text]) => {
    const hash = createHash("sha256").update(all).update(text).digest("hex").slice(0, 12);
    return [name.replace(/\.\w+$/, ""), name.replace(/-.*$/, `-${hash}`)];
  }));
  const renamed = texts.map(([name, text]) =>
    [rename(name, (each) => names.get(each)!), rename(text, (each) => names.get(each)!)] as const
  );
  return new Map(renamed);
}

if (import.meta.main) {
  await writeConsole(defaultFolder);
  console.log("dist/console: the files of the console");
}

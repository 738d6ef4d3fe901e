/**
 * Bundles the console's pages. The name of each file contains a hash of its content.
 *
 * @module
 */
import { join } from "node:path";

/** Entries of the console. Each becomes the files `<name>-<hash>.js` and `<name>-<hash>.css`. */
const entries = ["main", "plan"] as const;

const sources = new URL("../console/", import.meta.url);

/** Bundles the pages, and returns the content of each file by its name. */
export async function buildConsole(): Promise<
  ReadonlyMap<string, Uint8Array<ArrayBuffer>>
> {
  const folder = await Deno.makeTempDir({ prefix: "svc_console_" });
  try {
    await bundle(folder);
    const files = await readAll(folder);
    const named = files.map(async ([name, bytes]) =>
      [await hashedName(name, bytes), bytes] as const
    );
    return new Map(await Promise.all(named));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function bundle(folder: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform=browser", "--minify", "--code-splitting"],
      `--outdir=${folder}`,
      ...entries.map((name) => new URL(`${name}.ts`, sources).href),
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

async function readAll(
  folder: string,
): Promise<readonly (readonly [name: string, bytes: Uint8Array<ArrayBuffer>])[]> {
  const files = await Array.fromAsync(Deno.readDir(folder));
  return await Promise.all(
    files.filter(({ isFile }) => isFile).map(async ({ name }) => {
      return [name, await Deno.readFile(join(folder, name))] as const;
    }),
  );
}

/** Returns `main-1f3a….js` for the files of an entry. The bundler names the other files so. */
async function hashedName(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const [, stem = "", extension = ""] = /^([a-z]+)\.([a-z]+)$/.exec(name) ?? [];
  if (stem === "") return name;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hash = Array.from(digest.subarray(0, 6), (byte) => byte.toString(16).padStart(2, "0"));
  return `${stem}-${hash.join("")}.${extension}`;
}

/**
 * Loads the files of the npm package that the page uses.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AssetName } from "./api_page.ts";

/** The package's files in the npm package of svc, beside its bundle. */
const bundledFolder = new URL("./swagger-ui/", import.meta.url);

const pinned = "npm:swagger-ui-dist@5.35.0/absolute-path.js";

/** Reads a file of the package. */
export type ReadAsset = (name: AssetName) => Promise<Uint8Array<ArrayBuffer>>;

/**
 * Makes the reader. Its first call locates the package, which Deno downloads into its cache if it is
 * missing. The reader rejects if the package cannot be loaded.
 */
export function assetReader(): ReadAsset {
  let folder: Promise<string> | null = null;
  return async (name) => {
    folder ??= findFolder();
    try {
      return new Uint8Array(await readFile(join(await folder, name)));
    } catch (error) {
      folder = null;
      throw error;
    }
  };
}

async function findFolder(): Promise<string> {
  const bundled = fileURLToPath(bundledFolder);
  if (existsSync(bundled)) return bundled;
  return await (Deno.build.standalone ? importFolder(pinned) : locateFolder());
}

/** Imports the package. A compiled program can import only packages that it was compiled with. */
async function importFolder(specifier: string): Promise<string> {
  const { default: absolutePath } = await import(specifier);
  return absolutePath();
}

/**
 * Returns the folder of the package. Makers of bundles copy files from there.
 *
 * Imports the package in another process. An import in this process would add the package to the
 * project's lock file, and Deno would then download it at each first start.
 */
export async function locateFolder(): Promise<string> {
  const code = `import folder from ${JSON.stringify(pinned)}; console.log(folder());`;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", code],
    stderr: "null",
  }).output();
  if (!success) throw new Error("cannot load npm:swagger-ui-dist");
  return new TextDecoder().decode(stdout).trim();
}

/**
 * Files of the npm package that the API page is made with.
 *
 * @module
 */
import { join } from "node:path";
import type { AssetName } from "./api_page.ts";

const pinned = "npm:swagger-ui-dist@5.35.0/absolute-path.js";

/** Reads a file of the package. */
export type ReadAsset = (name: AssetName) => Promise<Uint8Array<ArrayBuffer>>;

/**
 * Makes the reader. The package is looked for, and downloaded into Deno's cache if it is not there,
 * when a file is asked for the first time. The reader rejects when there is no package to be had.
 */
export function assetReader(): ReadAsset {
  let folder: Promise<string> | null = null;
  return async (name) => {
    folder ??= Deno.build.standalone ? importFolder(pinned) : askFolder();
    try {
      return await Deno.readFile(join(await folder, name));
    } catch (error) {
      folder = null;
      throw error;
    }
  };
}

/** In a compiled program only what it was compiled with can be imported. */
async function importFolder(specifier: string): Promise<string> {
  const { default: absolutePath } = await import(specifier);
  return absolutePath();
}

/**
 * Has another process import the package: what this one imports goes into the project's lock file, and
 * what stands there is downloaded at every first start.
 */
async function askFolder(): Promise<string> {
  const code = `import folder from ${JSON.stringify(pinned)}; console.log(folder());`;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", code],
    stderr: "null",
  }).output();
  if (!success) throw new Error("the package cannot be had");
  return new TextDecoder().decode(stdout).trim();
}

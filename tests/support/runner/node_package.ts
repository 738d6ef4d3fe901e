/** The npm package, built from the sources and installed in an empty folder. @module */
import { join } from "node:path";
import { buildNpmPackage } from "../../../tools/build/npm.ts";

/** An installed package. Disposing of it removes its folder. */
export interface InstalledPackage extends AsyncDisposable {
  /** The folder with `node_modules`. */
  readonly folder: string;
  /** The folder of the package. */
  readonly root: string;
  /** Path of the archive. */
  readonly archive: string;
  /** Path of the program. */
  readonly bin: string;
}

/** A test that needs Node and npm: `Deno.test({ ...onNode, name, fn })`. */
export const onNode = { ignore: !(await runs("node")) || !(await runs("npm")) };

/** Builds and packs the package, and installs it from the archive beside other packages. */
export async function installPackage(...others: readonly string[]): Promise<InstalledPackage> {
  const folder = await Deno.makeTempDir({ prefix: "svc_npm_" });
  const dispose = () => Deno.remove(folder, { recursive: true });
  try {
    const built = join(folder, "built");
    await buildNpmPackage(built);
    const archive = (await npm(["pack", "./built", "--silent"], folder)).trim();
    await npm(["install", "--no-audit", "--no-fund", `./${archive}`, ...others], folder);
    const root = join(folder, "node_modules", "svc-api");
    const bin = join(root, "bin", "svc.mjs");
    return { folder, root, bin, archive: join(folder, archive), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("npm", { args: [...args], cwd })
    .output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

async function runs(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"] }).output()).success;
  } catch {
    return false;
  }
}

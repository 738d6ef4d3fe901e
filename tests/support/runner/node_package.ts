/** The npm package, built from the sources and installed in an empty folder. @module */
import { join } from "node:path";
import { version } from "../../../src/base/version.ts";
import { executableName, targets } from "../../../tools/release/executables.ts";
import { makeRelease } from "../../../tools/release/release.ts";
import { findProgram } from "../server/find_program.ts";

/** An installed package. Disposing of it removes its folder. */
export interface InstalledPackage extends AsyncDisposable {
  /** The folder with `node_modules`. */
  readonly folder: string;
  /** The folder of the package. */
  readonly root: string;
  /** The folder of the release. */
  readonly release: string;
  /** The folder with stand-ins of the executables; empty where `dpkg-deb` is not installed. */
  readonly executables: string;
  /** The text of the release's checksums. */
  readonly checksums: string;
  /** Path of the archive. */
  readonly archive: string;
  /** Path of the program. */
  readonly bin: string;
}

/** A test that needs Node and npm: `Deno.test({ ...onNode, name, fn })`. */
export const onNode = { ignore: !(await runs("node")) || !(await runs("npm")) };

/**
 * Makes a release in the folder `release`, and installs the package from its archive together with
 * other packages.
 */
export async function installPackage(...others: readonly string[]): Promise<InstalledPackage> {
  const folder = await Deno.makeTempDir({ prefix: "svc_npm_" });
  const dispose = () => Deno.remove(folder, { recursive: true });
  try {
    const release = join(folder, "release");
    const executables = join(folder, "executables");
    await Deno.mkdir(executables);
    for (const target of findProgram("dpkg-deb") === null ? [] : targets) {
      await Deno.writeTextFile(join(executables, executableName(target)), `${target}\n`);
    }
    const checksums = await makeRelease(release, executables);
    const archive = join(release, `svc-api-${version}.tgz`);
    await npm(["install", "--no-audit", "--no-fund", archive, ...others], folder);
    const root = join(folder, "node_modules", "svc-api");
    const bin = join(root, "bin", "svc.mjs");
    return {
      folder,
      root,
      bin,
      release,
      executables,
      checksums,
      archive,
      [Symbol.asyncDispose]: dispose,
    };
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

/** Finds the words with which a user calls the program: `svc`, `npx svc-api`, or `deno run`.
 * @module */
import { basename, dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { shellWord } from "./shell_word.ts";
import { isFile } from "./files.ts";

export interface ProcessStart {
  /** Path of this module, or of the bundle that contains it. */
  readonly module: string;
  /** Path of the script that the runtime was called with; empty if it is unknown. */
  readonly script: string;
  readonly folder: string;
  readonly path: string;
  /** Version of Deno; null on Node. */
  readonly deno: string | null;
  /** Whether the program is an executable that contains the runtime. */
  readonly isCompiled: boolean;
  readonly isFile: (path: string) => boolean;
}

let call: string | null = null;

/** Returns the words that call this program from the working directory, quoted for the shell. */
export function programCall(): string {
  return call ??= callOf(processStart());
}

/** Returns the words that would repeat this start of the program, quoted for the shell. */
export function callOf(start: ProcessStart): string {
  if (start.isCompiled) return "svc";
  return start.module.endsWith(".ts") ? checkoutCall(start) : installedCall(start);
}

/** Returns the words that install PGlite together with the program. */
export function installCall({ module } = processStart()): string {
  const [, root] = npxFolder.exec(module) ?? [];
  const prefix = root === undefined ? "" : `--prefix ${shellWord(root)} `;
  return `npm install ${prefix}@electric-sql/pglite`;
}

/** Folder that `npx` installs into. Its name depends on the package, which may be an archive. */
const npxFolder = /^(.*[/\\]_npx[/\\][^/\\]+)[/\\]/;

function processStart(): ProcessStart {
  const { Deno } = globalThis as {
    Deno?: { version: { deno: string }; build: { standalone: boolean } };
  };
  return {
    module: fileURLToPath(import.meta.url),
    script: process.argv[1] ?? "",
    folder: process.cwd(),
    path: process.env["PATH"] ?? "",
    deno: Deno?.version.deno ?? null,
    isCompiled: Deno?.build.standalone ?? false,
    isFile,
  };
}

function checkoutCall({ module, folder, path, deno, isFile }: ProcessStart): string {
  const main = shellWord(pathFrom(folder, join(dirname(module), "..", "..", "..", "main.ts")));
  // `npx deno` puts its folder on the path. Only a Deno outside of such folders is installed.
  const hasDeno = path.split(":").some((entry) =>
    !/[/\\](?:_npx|node_modules)[/\\]/.test(`${entry}/`) && isFile(join(entry, "deno"))
  );
  return `${hasDeno ? "deno" : `npx -y deno@${deno}`} run -A ${main}`;
}

function installedCall({ module, script, folder, path, deno }: ProcessStart): string {
  const name = basename(script);
  if (deno === null && !npxFolder.test(module) && (name === "svc" || name === "svc-api")) {
    if (dirname(script).endsWith(join("node_modules", ".bin"))) return "npx svc-api";
    if (path.split(":").includes(dirname(script))) return name;
  }
  const bin = pathFrom(folder, join(dirname(module), "..", "bin", "svc.mjs"));
  return `${deno === null ? "node" : "deno run -A"} ${shellWord(bin)}`;
}

/** Returns a path relative to a folder if the folder contains it, otherwise the unchanged path. */
function pathFrom(folder: string, path: string): string {
  const near = relative(folder, path);
  return near === "" || near.startsWith("..") ? path : near;
}

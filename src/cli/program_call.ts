/** The words that call the program, as a user types them: `svc`, `npx svc-api`, or those of a
 * checkout. @module */
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { isEmbedded } from "../database/open.ts";
import type { CallWords } from "../observe/call_words.ts";
import type { ConfigArguments } from "./command.ts";
import { isFile } from "./output.ts";
import { shellWord } from "./shell_word.ts";
import { connectionName } from "./target.ts";

/** How the process was started. */
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
  /** Returns the text of a file, or null. */
  readonly readText: (path: string) => string | null;
  readonly isFile: (path: string) => boolean;
}

let call: string | null = null;

/** Returns the words that call this program from the working directory, quoted for the shell. */
export function programCall(): string {
  return call ??= callOf(processStart());
}

/** Returns the words of calls with the configuration that arguments name. */
export function callWords(args: ConfigArguments): CallWords {
  return { program: programCall(), source: sourceWord(args) };
}

/** Returns the argument without the secrets of a connection string. */
export function sourceWord({ file, flags }: ConfigArguments): string {
  if (file !== null) return shellWord(file);
  const uri = flags.get("db-uri");
  if (uri === undefined) return "";
  const word = isEmbedded(uri.value) ? shellWord(uri.value) : "postgres://…";
  return uri.name === connectionName ? word : `--db-uri=${word}`;
}

/** Returns the words for a call of the program together with PGlite. */
export function embeddedCall(): string {
  return embeddedCallOf(processStart());
}

/** Returns the words that call the program after a start, quoted for the shell. */
export function callOf(start: ProcessStart): string {
  if (start.isCompiled) return "svc";
  const packages = npxPackages(start);
  const [spec = "", ...others] = packages ?? [];
  if (packages !== null && others.length === 0) return `npx ${runnableWord(spec, start)}`;
  if (packages !== null) return `npx ${packageFlags(packages, start)} svc-api`;
  if (start.module.endsWith(".ts")) return checkoutCall(start);
  return installedCall(start);
}

/** Returns the words for a call of the program together with PGlite after a start. */
export function embeddedCallOf(start: ProcessStart): string {
  const packages = npxPackages(start);
  if (packages !== null) return `npx ${packageFlags([...packages, pglite], start)} svc-api`;
  return `npm install ${pglite}; then ${callOf(start)}`;
}

const pglite = "@electric-sql/pglite";

function processStart(): ProcessStart {
  const isDeno = "Deno" in globalThis;
  return {
    module: fileURLToPath(import.meta.url),
    script: process.argv[1] ?? "",
    folder: process.cwd(),
    path: process.env["PATH"] ?? "",
    deno: isDeno ? Deno.version.deno : null,
    isCompiled: isDeno && Deno.build.standalone,
    readText: (path) => isFile(path) ? readFileSync(path, "utf8") : null,
    isFile,
  };
}

/** Returns the packages that `npx` installed, as the user named them; null without `npx`. */
function npxPackages({ module, readText }: ProcessStart): readonly string[] | null {
  const [, root] = /^(.*[/\\]_npx[/\\][^/\\]+)[/\\]node_modules[/\\]svc-api[/\\]/.exec(module) ??
    [];
  const text = root === undefined ? null : readText(join(root, "package.json"));
  if (text === null) return null;
  try {
    const packages: unknown = JSON.parse(text)._npx?.packages;
    const isList = Array.isArray(packages) && packages.every((name) => typeof name === "string");
    return isList && packages.length > 0 ? packages : ["svc-api"];
  } catch {
    return ["svc-api"];
  }
}

function packageFlags(packages: readonly string[], start: ProcessStart): string {
  return packages.map((name) => `-p ${packageWord(name, start)}`).join(" ");
}

/** Npm takes a relative path for a package only if it begins with a dot. */
function packageWord(name: string, { folder }: ProcessStart): string {
  const path = name.replace(/^file:/, "");
  if (!path.startsWith(sep)) return shellWord(name);
  const near = pathFrom(folder, path);
  return shellWord(near === path ? path : `.${sep}${near}`);
}

/** Returns the package that `npx` runs. Without `-p`, npm takes an absolute path for a command. */
function runnableWord(name: string, start: ProcessStart): string {
  const word = packageWord(name, start);
  return /^'?\//.test(word) ? shellWord(`file:${name.replace(/^file:/, "")}`) : word;
}

function checkoutCall({ module, folder, path, deno, isFile }: ProcessStart): string {
  const main = shellWord(pathFrom(folder, join(dirname(module), "..", "..", "main.ts")));
  // While `npx deno` runs, its own folder is on the path.
  const hasDeno = path.split(":").some((entry) =>
    !/[/\\](?:_npx|node_modules)[/\\]/.test(`${entry}/`) && isFile(join(entry, "deno"))
  );
  return `${hasDeno ? "deno" : `npx -y deno@${deno}`} run -A ${main}`;
}

function installedCall({ module, script, folder, path, deno }: ProcessStart): string {
  const name = basename(script);
  if (deno === null && (name === "svc" || name === "svc-api")) {
    if (dirname(script).endsWith(join("node_modules", ".bin"))) return "npx svc-api";
    if (path.split(":").includes(dirname(script))) return name;
  }
  const bin = pathFrom(folder, join(dirname(module), "..", "bin", "svc.mjs"));
  return `${deno === null ? "node" : "deno run -A"} ${shellWord(bin)}`;
}

/** Returns a path from a folder if it is inside, else the path itself. */
function pathFrom(folder: string, path: string): string {
  const near = relative(folder, path);
  return near === "" || near.startsWith("..") ? path : near;
}

/** Compiles the executables of a release, one for each target: `deno task release:executables` writes
 * them to `dist/executables`. Deno downloads the runtime of each target. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import denoConfig from "../../deno.json" with { type: "json" };

const root = fileURLToPath(new URL("../../", import.meta.url));
/** The folder of the executables, which `deno task release` adds to a release. */
export const executablesFolder: string = Deno.env.get("SVC_EXECUTABLES") ??
  join(root, "dist", "executables");

/** The targets of `deno compile`. */
export const targets = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;

/** Returns the name of a target's executable. */
export function executableName(target: string): string {
  return `svc-${target}${target.includes("windows") ? ".exe" : ""}`;
}

/** Returns the arguments of the task `compile` for a target. */
export function compileArguments(target: string, folder: string): readonly string[] {
  const [, compile = ""] = denoConfig.tasks.compile.command.split(" && deno ");
  const args = compile.split(" ");
  args[args.indexOf("--output") + 1] = join(folder, executableName(target));
  return [args[0]!, "--target", target, ...args.slice(1)];
}

async function run(args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: root,
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  if (!success) throw new Error(`deno ${args.slice(0, 3).join(" ")} failed`);
}

if (import.meta.main) {
  await run(["task", "build:console"]);
  for (const target of targets) await run(compileArguments(target, executablesFolder));
}

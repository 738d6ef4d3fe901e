/** The program under test: `main.ts` on Deno, or the command in `SVC_TEST_PROGRAM`, such as `node
 * /path/to/svc/dist/npm/bin/svc.mjs`. @module */
import { fileURLToPath } from "node:url";

const root = new URL("../../../", import.meta.url);

/** Names the command, in words separated by spaces. */
export const programVariable = "SVC_TEST_PROGRAM";

const words = (Deno.env.get(programVariable) ?? "").split(" ").filter((word) => word !== "");

/** True if the program runs on another runtime than Deno. */
export const isOtherRuntime = words.length > 0;

/** A test of what only Deno's program does: `Deno.test({ ...onDeno, name, fn })`. */
export const onDeno = { ignore: isOtherRuntime };

/** The command and arguments that run the program. `permissions` are for Deno. */
export function programCommand(
  args: readonly string[],
  permissions: readonly string[] = ["-A"],
): readonly [command: string, ...args: string[]] {
  const [command, ...others] = words;
  if (command !== undefined) return [command, ...others, ...args];
  const config = `--config=${fileURLToPath(new URL("deno.json", root))}`;
  const main = fileURLToPath(new URL("main.ts", root));
  return [Deno.execPath(), "run", ...permissions, config, main, ...args];
}

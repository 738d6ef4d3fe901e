/** How long the first answer takes after the import, with a schema cache from a file. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Measures in Node, as the quickest of five processes, in milliseconds. */
export async function coldStart(
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<number> {
  const file = join(folder, "schema_cache.json");
  const dump = await output(
    Deno.execPath(),
    ["run", "-A", "main.ts", "--dump-schema"],
    environment,
  );
  await Deno.writeTextFile(file, dump);
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const args = ["tests/runtimes/cold_start.mjs", environment["SVC_DB_URI"] ?? "", file];
    times.push(Number(await output("node", args, {})));
  }
  return Math.min(...times);
}

async function output(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], cwd: root, env: { ...env } });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

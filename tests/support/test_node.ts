/** Runs the tests of the process against the npm package on Node: `deno task test:node [program]`.
 * `program` is a Node other than the one in the path. Arguments after it go to the task `test`.
 * @module */
import { installPackage } from "./runner/node_package.ts";
import { programVariable } from "./server/program_command.ts";

/** Files that test what only Deno's program has, with the reason. */
const denoOnly: ReadonlyMap<string, string> = new Map([
  ["compile", "the executable of deno compile"],
  ["descriptors", "Deno's server ends without a free descriptor, Node's continues"],
  ["deploy", "the files of examples/deploy, without the program"],
  ["hostile_body", "limits the heap by a flag of Deno's"],
  ["npm_package", "builds the package itself"],
  ["tracing", "Deno's exporter of traces"],
]);

async function main([node = "node", ...args]: readonly string[]): Promise<number> {
  const folder = new URL("../process/", import.meta.url);
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name)
    .filter((name) => name.endsWith("_test.ts") && !denoOnly.has(name.replace("_test.ts", "")));
  await using installed = await installPackage("@electric-sql/pglite");
  const runTests = new URL("run_tests.ts", import.meta.url).pathname;
  const files = names.sort().map((name) => `tests/process/${name}`);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", runTests, ...args, ...files],
    env: { [programVariable]: `${node} ${installed.bin}` },
  }).spawn().status;
  for (const [name, reason] of denoOnly) console.log(`not run on Node: ${name}: ${reason}`);
  return code;
}

Deno.exit(await main(Deno.args));

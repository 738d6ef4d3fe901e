/** Programs of guides, run as they stand there. */
import { ok, strictEqual } from "node:assert/strict";
import { env } from "node:process";
import { inspect } from "node:util";
import { type ExampleName, OpenExamples, tokensOf } from "../support/docs/examples.ts";
import { codeBlocks, root } from "../support/docs/markdown.ts";

/** A program, and the block with its output two blocks later: after the command that runs it. */
interface Guide {
  readonly path: string;
  /** The flag of the program's block, and the example that it runs against. */
  readonly example: ExampleName;
  /** The command that starts the example. */
  readonly command: string;
}

const guides: readonly Guide[] = [
  {
    path: "docs/how-to/move-from-supabase.md",
    example: "supabase",
    command: "svc demo shop --server-path-prefix=/rest/v1 --jwt-apikey-header=true\n",
  },
];

for (const { path, example, command } of guides) {
  Deno.test({
    name: `[pg] ${path} prints its output`,
    // The client keeps timers for the session of a user.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const blocks = codeBlocks({ path, text: await Deno.readTextFile(`${root}${path}`) });
      ok(blocks.some(({ text }) => text === command), command);
      const at = blocks.findIndex(({ flags }) => flags.includes(example));
      await using open = new OpenExamples();
      const handler = await open.shared(example);
      await using server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        (request) => handler(request),
      );
      Object.assign(env, await tokensOf(example));
      const program = blocks[at]!.text.replace("localhost:3000", `localhost:${server.addr.port}`);
      strictEqual(await outputOf(program), blocks[at + 2]!.text);
    },
  });
}

/** Runs a module, and returns what it prints. */
async function outputOf(program: string): Promise<string> {
  const lines: string[] = [];
  const { log } = console;
  console.log = (...values) => void lines.push(values.map((value) => inspect(value)).join(" "));
  try {
    await import(`data:application/javascript,${encodeURIComponent(program)}`);
  } finally {
    console.log = log;
  }
  return lines.map((line) => `${line}\n`).join("");
}

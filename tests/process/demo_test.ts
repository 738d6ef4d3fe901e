import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { examples } from "../../src/process/cli/examples.ts";
import { readCurl } from "../support/docs/curl.ts";
import { freePort } from "../support/server/free_port.ts";
import { type DenoProcess, startCommand } from "../support/server/process.ts";
import { programCommand } from "../support/server/program_command.ts";

/** Starts `demo` in a temporary folder of its own, so that what it leaves behind can be seen. */
async function startDemo(
  args: readonly string[],
): Promise<DenoProcess & { readonly left: () => readonly string[] }> {
  const folder = await Deno.makeTempDir({ prefix: "svc_demo_" });
  const process = startCommand(programCommand(["demo", ...args]), { env: { TMPDIR: folder } });
  return {
    ...process,
    left: () => Array.from(Deno.readDirSync(folder), ({ name }) => name),
    [Symbol.asyncDispose]: async () => {
      await process[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The commands in the printed text: each begins with `curl` and ends with an empty line. */
function commandsIn(lines: readonly string[]): readonly string[] {
  const paragraphs = lines.join("\n").split("\n\n").map((paragraph) => paragraph.trim());
  return paragraphs.filter((paragraph) => paragraph.startsWith("curl "));
}

for (const [name, { requests }] of examples) {
  Deno.test(`demo ${name} prints requests that succeed, and leaves no file`, async () => {
    const ports = [`--port=${freePort()}`, `--admin-server-port=${freePort()}`];
    await using process = await startDemo([name, ...ports]);
    await process.stdout.waitFor(/^The console, in a browser: http:\/\/localhost:\d+$/);
    await process.stdout.waitFor(/^Stop with Ctrl-C\.$/);
    const commands = commandsIn(process.stdout.all);
    strictEqual(commands.length, requests.length);
    for (const command of commands) {
      const response = await fetch(readCurl(command).request);
      const body = await response.json();
      ok(response.ok, `${command}: ${JSON.stringify(body)}`);
      ok(!Array.isArray(body) || body.length > 0, `${command} shows nothing`);
    }
    const { origin, pathname } = new URL(readCurl(commands[0]!).request.url);
    await checkRoot(new URL("/", origin));
    const advised = await fetch(`${origin}${pathname}?limit=1`, {
      headers: { Authorization: "no.scheme" },
    });
    await advised.body?.cancel();
    await process.stderr.waitFor(
      /Hint: Authorization has no effect: write Bearer before the token$/,
    );
    strictEqual((await process.stop("SIGINT")).code, 0);
    deepStrictEqual(process.left(), []);
  });
}

/** A browser gets the console; other clients get the description. */
async function checkRoot(url: URL): Promise<void> {
  const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
  for (
    const [headers, type] of [[browser, "text/html"], [{}, "application/openapi+json"]] as const
  ) {
    const response = await fetch(url, { headers });
    strictEqual(response.headers.get("Content-Type")?.split(";")[0], type);
    await response.body?.cancel();
  }
}

const mistakes: readonly (readonly [args: readonly string[], line: RegExp])[] = [
  [["weather"], /^svc: demo: unknown example "weather": expected todos or shop$/],
  [["postgres://localhost/shop"], /^svc: demo: serves a database of its own: leave out db-uri$/],
  [["--db-uri=pglite://x"], /^svc: demo: serves a database of its own: leave out db-uri$/],
];

for (const [args, line] of mistakes) {
  Deno.test(`demo ${args.join(" ")} ends with 1 and one line`, async () => {
    await using process = await startDemo(args);
    strictEqual((await process.status).code, 1);
    await process.stderr.ended;
    strictEqual(process.stderr.all.length, 1);
    match(process.stderr.all[0]!, line);
    deepStrictEqual(process.left(), []);
  });
}

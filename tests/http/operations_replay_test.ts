/** Operations that are recorded from the rows of other suites: each request that succeeded is
 * permitted, and a second recording adds nothing. */
import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import { declaredSuites, openHandler } from "../support/handler/api.ts";
import { recorderOf, recordingHandler } from "../support/handler/recording.ts";
import { engines } from "../support/database/engines.ts";
import { buffered, buildRequest } from "../support/handler/request.ts";

const register = Deno.test;
Object.assign(Deno, { test: () => {} });
for (const { name } of Deno.readDirSync(new URL(".", import.meta.url))) {
  if (
    /^(read|write|nested|rpc|patch_doc|query_method|representation).*(?<!property)_test\.ts$/.test(
      name,
    )
  ) {
    await import(`./${name}`);
  }
}
Object.assign(Deno, { test: register });

const origin = "http://localhost:3000";

Deno.test("recorded requests are permitted, and a second recording adds nothing", async (t) => {
  let permitted = 0;
  const suites = declaredSuites.filter(({ rows, config }) =>
    rows.length > 0 && config.dbTxEnd === undefined
  );
  ok(suites.length > 20);
  for (const { fixture, config, rows } of suites) {
    const database = await engines.pg(fixture);
    const options = { dbTxEnd: "rollback", ...config, dbUri: database.uri } as const;
    const send = async (handle: (request: Request) => Promise<Response>) => {
      const statuses: (readonly [line: string, status: number, code: string | null])[] = [];
      for (const [line, parts] of rows) {
        const response = await buffered(await handle(await buildRequest({ line, origin }, parts)));
        const { status } = response;
        const code = status === 403 ? (await response.json()).code : null;
        statuses.push([line, status, code]);
      }
      return statuses;
    };
    await t.step({
      name: `${fixture.name}, ${rows.length} rows`,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const recorder = recorderOf("");
        const first = recordingHandler(options, recorder);
        const before = await send(first);
        await first.close();
        const operations = `# Recorded.\nunused nobody GET /unused\n${recorder.text}`;
        const { handler } = openHandler({ ...options, operations });
        const after = await send(handler);
        await handler.close();
        for (const [at, [line, status]] of before.entries()) {
          // OPTIONS is permitted where another operation has the path.
          if (status >= 400 || line.startsWith("OPTIONS")) continue;
          notStrictEqual(after[at]![2], "SVC190", line);
          permitted++;
        }
        const again = recorderOf(recorder.text);
        const second = recordingHandler(options, again);
        deepStrictEqual((await send(second)).length, before.length);
        await second.close();
        strictEqual(again.text, recorder.text);
      },
    });
    await database.remove();
  }
  ok(permitted > 700, `${permitted} requests were permitted`);
});

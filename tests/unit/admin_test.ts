import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { adminHandler } from "../../src/admin.ts";
import { configSource, noValues } from "../../src/config/source.ts";
import { type Dialect, pgrstDialect, svcDialect } from "../../src/dialect.ts";

interface State {
  readonly live: boolean;
  readonly ready: boolean;
}

/** What of the service the checks ask, and how they are answered: `/live`, then `/ready`. */
const checks: readonly (readonly [state: State, svc: number[], pgrst: number[]])[] = [
  [{ live: true, ready: true }, [200, 200], [200, 200]],
  [{ live: true, ready: false }, [200, 503], [200, 503]],
  [{ live: false, ready: true }, [503, 503], [500, 500]],
  [{ live: false, ready: false }, [503, 503], [500, 503]],
];

type Asked = Parameters<typeof adminHandler>[0];

function admin(dialect: Dialect, { live, ready }: State): (request: Request) => Promise<Response> {
  const unasked = () => {
    throw new Error("the checks ask for nothing else");
  };
  const service = { dialect, isReady: () => Promise.resolve(ready), figures: unasked };
  return adminHandler(service as unknown as Asked, { isLive: () => live, readAsset: unasked });
}

for (const [state, svc, pgrst] of checks) {
  for (const [dialect, expected] of [[svcDialect, svc], [pgrstDialect, pgrst]] as const) {
    Deno.test(`adminHandler in ${dialect.name} answers for ${JSON.stringify(state)}`, async () => {
      const handle = admin(dialect, state);
      const answers = await Promise.all(
        ["/live", "/ready"].map((path) => handle(new Request(`http://admin${path}`))),
      );
      deepStrictEqual(answers.map(({ status }) => status), expected);
      deepStrictEqual(await Promise.all(answers.map((answer) => answer.text())), ["", ""]);
    });
  }
}

const config = configSource({
  file: {
    path: "svc.conf",
    text: 'db-uri = "postgres://user:hidden1@h/db?password=hidden2"\ndb-schemas = "api"\n' +
      'jwt-secret = "hidden3 hidden3 hidden3 hidden3 hidden3"\n' +
      '"app.settings.key" = "hidden4"\n',
  },
  environment: {},
  readFile: () => new Uint8Array(),
}).configure(noValues);

Deno.test("adminHandler shows the configuration without what is secret, where the dialect has it", async () => {
  for (const [dialect, status] of [[svcDialect, 200], [pgrstDialect, 404]] as const) {
    const service = { dialect, snapshot: { config } };
    const handle = adminHandler(service as unknown as Asked, {
      isLive: () => true,
      readAsset: () => Promise.reject(new Error("not asked for")),
    });
    const response = await handle(new Request("http://admin/config"));
    const text = await response.text();
    strictEqual(response.status, status);
    strictEqual(text.includes("hidden"), false, text);
    if (status === 404) continue;
    match(text, /^db-uri = "postgres:\/\/\*\*\*@h\/db\?password=\*\*\*"$/m);
    match(text, /^jwt-secret = "\*\*\*"$/m);
    match(text, /^app\.settings\.key = "\*\*\*"$/m);
    match(text, /^db-pool = 10$/m);
  }
});

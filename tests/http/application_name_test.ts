/** What the connections to PostgreSQL call themselves. */
import { strictEqual } from "node:assert/strict";
import { createHandler } from "../../mod.ts";
import { version } from "../../src/base/version.ts";
import { engines } from "../support/database/engines.ts";

type Form = (uri: URL) => string;

const asUri: Form = (uri) => uri.href;

/** `host=… port=…`, with what a connection of its own kind needs. */
const asKeywords: Form = ({ hostname, port, username, password, pathname }) =>
  [
    `host=${hostname} port=${port} user=${username} dbname=${pathname.slice(1)}`,
    ...(password === "" ? [] : [`password='${decodeURIComponent(password)}'`]),
  ].join(" ");

const withName: Form = (uri) => {
  const named = new URL(uri);
  named.searchParams.set("application_name", "mine");
  return named.href;
};

const rows: readonly (readonly [
  what: string,
  form: Form,
  expected: Readonly<Record<"svc" | "pgrst", string>>,
])[] = [
  ["a URI", asUri, { svc: `SVC ${version}`, pgrst: `PostgREST ${version}` }],
  ["keywords", asKeywords, { svc: "", pgrst: `PostgREST ${version}` }],
  ["a URI with a name", withName, { svc: "mine", pgrst: "mine" }],
  ["keywords with a name", (uri) => `${asKeywords(uri)} application_name=mine`, {
    svc: "mine",
    pgrst: "mine",
  }],
];

Deno.test("connections name the program where the dialect says so", async (t) => {
  const database = await engines.pg({ name: "settings", roles: ["anon", "writer"] });
  try {
    for (const [what, form, expected] of rows) {
      for (const dialect of ["svc", "pgrst"] as const) {
        await t.step(`${dialect}: ${what}`, async () => {
          const handler = createHandler({
            dbUri: form(new URL(database.uri)),
            dbSchemas: ["api"],
            dbAnonRole: "anon",
            dbPool: 1,
            dialect,
          });
          try {
            const request = new Request("http://x/rpc/setting?name=application_name");
            strictEqual(await (await handler(request)).json(), expected[dialect]);
          } finally {
            await handler.close();
          }
        });
      }
    }
  } finally {
    await database.remove();
  }
});

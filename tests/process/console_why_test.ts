import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { startService } from "../support/server/process.ts";

const fixture = { name: "policy_tests", roles: ["web_anon", "web_user"] };

const rows = `
insert into api.account (id, email, team) values (1, 'anna@shop', 3), (2, 'ben@shop', 4);
insert into api.doc (id, owner_id, team, title, secret)
values (1, 1, 3, 'plan', 'x'), (2, 2, 4, 'report', 'hidden');
create function api.shout(api.doc) returns text language plpgsql volatile as
  $$ begin perform set_config('role', 'none', true); return $1.secret; end $$;
create table api.slow (id int); insert into api.slow values (1);
alter table api.slow enable row level security; grant select on api.slow to web_user;
create policy slow_wait on api.slow using (pg_sleep(60) is null);
`;

/** Requests of anna, and their like with a guess about a row or column that she may not see. */
const guesses: readonly (readonly [right: string, wrong: string, body?: string])[] = [
  ["GET /doc?id=eq.2&select=id", "GET /doc?id=eq.9&select=id"],
  ["GET /doc?select=id&secret=eq.hidden", "GET /doc?select=id&secret=eq.wrong"],
  ["GET /doc?select=id&shout=eq.hidden", "GET /doc?select=id&shout=eq.wrong"],
  ["DELETE /doc?id=eq.2&secret=eq.hidden", "DELETE /doc?id=eq.2&secret=eq.wrong"],
  ["PATCH /doc?id=eq.2", "PATCH /doc?id=eq.9", '{"title":"x"}'],
  ["PUT /doc?id=eq.2", "PUT /doc?id=eq.9", '{"id":2,"owner_id":1,"title":"x"}'],
];

for (const signIn of [true, false]) {
  Deno.test(`/console/why with admin-sign-in = ${signIn}`, async (t) => {
    const database = await engines.pg(fixture);
    await withClient(database.superuserUri!, (client) => client.query(rows));
    {
      await using service = await startService({
        ...{ "db-uri": database.superuserUri!, "db-schemas": "api", "db-anon-role": "web_anon" },
        ...{ "jwt-secret": testSecret, "jwt-aud": "shop", "admin-sign-in": signIn },
      });
      await service.listening();
      const claims = { role: "web_user", sub: "1", team: "3", aud: "shop" };
      const send = async (body: unknown, headers: Record<string, string> = { Console: "1" }) => {
        const url = `${service.adminOrigin}/console/why`;
        const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
        return { status: response.status, text: await response.text() };
      };
      const why = async (request: string, body: string | null = null, own = {}) => {
        const [method, target] = request.split(" ");
        const token = await signToken({ ...claims, ...own });
        const headers = [["Authorization", `Bearer ${token}`]];
        return await send({ method, target, headers, body });
      };
      await t.step("rows of others are explained with it alone", async () => {
        const { status, text } = await why("GET /doc?id=in.(1,2)&select=id");
        const lines: string[] = JSON.parse(text);
        strictEqual(status, 200);
        const hidden = "1 more row matches the filter and is hidden from web_user";
        strictEqual(lines[0], signIn ? `200, 1 row; ${hidden}` : "200, 1 row");
        strictEqual(text.includes("owner_id = 2"), signIn);
        strictEqual(lines.includes("to see hidden rows: svc why, or admin-sign-in"), !signIn);
      });
      for (const [right, wrong, body] of signIn ? [] : guesses) {
        await t.step(`${right} answers as ${wrong}`, async () => {
          const answer = await why(right, body);
          const plain = (text: string) => text.replaceAll(/eq\.\w+/g, "");
          strictEqual(answer.status, 200);
          strictEqual(plain(answer.text), plain((await why(wrong, body)).text));
        });
      }
      await t.step("a function does not run as the owner", async () => {
        const { text } = await why("GET /doc?id=eq.2&shout=eq.hidden&select=id");
        ok(!text.includes("matches the filter"), text);
      });
      await t.step("a policy that waits ends", async () => {
        const { text } = await why("HEAD /slow?limit=0");
        match(text, signIn ? /slow_wait error 57014: / : /^\["200, no rows"/);
      });
      for (
        const [label, own, error] of [
          ["expired", { exp: 1 }, /^\["401 SVC301: JWT expired/],
          ["of another audience", { aud: "other" }, /^\["401 SVC301: JWT not in audience/],
          ["of no role", { role: "nobody" }, /^\["40\d /],
          ["with odd claims", { sub: ["\u0000", { "\u001b": "'" }] }, /^\["\d{3}/],
        ] as const
      ) {
        await t.step(`a token ${label}`, async () => {
          const { status, text } = await why("GET /doc?select=id", null, own);
          strictEqual(status, 200, text);
          match(text, error);
          ok(!/matches the filter|owner_id =/.test(text) || label === "with odd claims", text);
        });
      }
      for (
        const body of [null, {}, [], 1, "x", { method: "TRACE", target: "/" }, {
          ...{ method: "GET", target: "//evil/doc", headers: {}, body: null },
        }, { method: "GET", target: "/doc", headers: [["a\nb", "c"]], body: null }]
      ) {
        await t.step(`a body of ${JSON.stringify(body)}`, async () => {
          const { status, text } = await send(body);
          strictEqual(status, 400);
          ok(text.length < 200 && !/\bat \S+:\d+/.test(text), text);
        });
      }
      await t.step("1,000 filters", async () => {
        const { status, text } = await why(`GET /doc?select=id${"&id=eq.1".repeat(1000)}`);
        strictEqual(status, 200);
        match(text, /^\["(?:200, 1 row|4\d\d )/);
      });
      await t.step("only the console's page may ask", async () => {
        strictEqual((await send({ method: "GET", target: "/doc" }, {})).status, 403);
      });
    }
    await withClient(database.superuserUri!, async (client) => {
      const { rows } = await client.query("select id, title from api.doc order by id");
      deepStrictEqual(rows, [{ id: 1, title: "plan" }, { id: 2, title: "report" }]);
    });
    await database.remove();
  });
}

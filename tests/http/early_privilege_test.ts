/** A role without any privilege is refused before its long body is read. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Handler } from "../../mod.ts";
import { withAdministeredHandler } from "../support/administered_handler.ts";
import { buildRequest } from "../support/request.ts";
import { testSecret } from "../support/token.ts";

const schema = `
  create table api.closed (id int, note text);
  create table api.columns_only (id int, note text);
  grant insert (id, note), update (note) on api.columns_only to anon;
  create view api.closed_view as select * from api.closed;
  create materialized view api.closed_stored as select * from api.closed;
  create table api.secured (id int, note text);
  alter table api.secured enable row level security;
  grant insert on api.secured to anon;
  create function api.closed_call(a text) returns text language sql as $$ select a $$;
  create function api.half_open(a text) returns text language sql as $$ select 'text' $$;
  create function api.half_open(b int) returns text language sql as $$ select 'int' $$;
  revoke execute on function api.closed_call(text), api.half_open(text) from public;
  create schema closed;
  create table closed.t (id int, note text);
  grant insert on closed.t to anon`;

const config = { dbSchemas: ["api", "closed"], jwtSecret: testSecret };

const pieceBytes = 32 * 1024;
const pieces = 100;

interface Sent {
  readonly framing: Readonly<Record<string, string>>;
  readonly as?: string;
}

/** Sends a row in pieces of blanks; returns the response and how many pieces were read. */
async function send(
  handler: Handler,
  line: string,
  { framing, as }: Sent,
  headers: Readonly<Record<string, string>> = {},
) {
  let read = 0;
  const row = new TextEncoder().encode('{"id":1,"note":"a"}'.padStart(pieceBytes));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (++read < pieces) return controller.enqueue(new Uint8Array(pieceBytes).fill(0x20));
      controller.enqueue(row);
      controller.close();
    },
  }, { highWaterMark: 0 });
  const all = { "Content-Type": "application/json", ...framing, ...headers };
  const parts = as === undefined ? { headers: all } : { headers: all, as };
  const bare = await buildRequest({ line, origin: "http://localhost:3000" }, parts);
  const response = await handler(new Request(bare, { body }));
  return { response, read };
}

const framings = [
  { "Content-Length": String(pieces * pieceBytes) },
  { "Transfer-Encoding": "chunked" },
] as const;

const denied = (what: string) => `permission denied for ${what}`;

Deno.test("a long body without any privilege is refused unread, as PostgreSQL refuses it", async (t) => {
  await withAdministeredHandler(schema, config, async ({ handler }) => {
    /** Request line, headers, message. */
    const refused: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
      ["POST /closed", {}, denied("table closed")],
      ["PATCH /closed?id=eq.1", {}, denied("table closed")],
      ["POST /closed_view", {}, denied("view closed_view")],
      ["POST /closed", { Prefer: "resolution=merge-duplicates" }, denied("table closed")],
      ["POST /t", { "Content-Profile": "closed" }, denied("schema closed")],
      ["POST /rpc/closed_call", {}, denied("function closed_call")],
      ["POST /closed?columns=id", {}, denied("table closed")],
    ];
    for (const [line, headers, message] of refused) {
      for (const [as, status] of [[undefined, 401], ["writer", 403]] as const) {
        for (const framing of framings) {
          const name = `${line} ${JSON.stringify(headers)} as ${as}, ${Object.keys(framing)}`;
          await t.step(name, async () => {
            const short = line.includes("rpc") ? { a: "b" } : { id: 1, note: "a" };
            const parts = { headers, body: short, ...(as === undefined ? {} : { as }) };
            const asShort = await handler(
              await buildRequest({ line, origin: "http://localhost:3000" }, parts),
            );
            const sent = { framing, ...(as === undefined ? {} : { as }) };
            // The second one finds the plan in the cache, if the shape is cached at all.
            for (let turn = 0; turn < 2; turn++) {
              const { response, read } = await send(handler, line, sent, headers);
              deepStrictEqual([response.status, read], [status, 0]);
              const error = await response.json();
              deepStrictEqual(error, { code: "42501", details: null, hint: null, message });
              if (turn === 0) deepStrictEqual(await asShort.json(), error);
            }
          });
        }
      }
    }
  });
});

Deno.test("a long body is read where a privilege may suffice", async (t) => {
  await withAdministeredHandler(schema, config, async ({ handler }) => {
    /** Request line and status: the row has both columns. */
    const rows: readonly (readonly [string, number])[] = [
      ["POST /columns_only", 201],
      ["PATCH /columns_only?columns=note", 204],
      // Row-level security refuses the row.
      ["POST /secured", 401],
      ["POST /rpc/half_open", 404],
    ];
    for (const [line, status] of rows) {
      await t.step(line, async () => {
        const { response, read } = await send(handler, line, { framing: framings[0] });
        await response.body?.cancel();
        deepStrictEqual([response.status, read > 0], [status, true]);
      });
    }
  });
});

Deno.test("a long body of unknown length is refused once it proves to be long", async () => {
  await withAdministeredHandler(schema, config, async ({ handler }) => {
    const { response, read } = await send(handler, "POST /closed", { framing: {} });
    strictEqual(response.status, 401);
    strictEqual((await response.json()).message, denied("table closed"));
    ok(read <= 4, `${read} pieces`);
  });
});

Deno.test("the body is read before db-pre-request decides, and for a role that does not exist", async () => {
  const withCheck = `${schema}; create function api.check() returns void language plpgsql as
    $$ begin raise insufficient_privilege using message = 'checked'; end $$`;
  const checked = { ...config, dbPreRequest: { schema: "api", name: "check" } };
  await withAdministeredHandler(withCheck, checked, async ({ handler }) => {
    const { response, read } = await send(handler, "POST /closed", { framing: framings[0] });
    deepStrictEqual([response.status, (await response.json()).message], [401, "checked"]);
    ok(read >= pieces);
  });
  await withAdministeredHandler(schema, config, async ({ handler }) => {
    const sent = { framing: framings[0], as: "nobody_of_this_name" };
    const { response, read } = await send(handler, "POST /closed", sent);
    await response.body?.cancel();
    deepStrictEqual([response.status, read >= pieces], [400, true]);
  });
});

Deno.test("a grant counts within a second, and a check needs no privilege of its own", async () => {
  await withAdministeredHandler(schema, config, async ({ handler, admin }) => {
    const post = async () => {
      const { response } = await send(handler, "POST /closed", { framing: framings[0] });
      await response.body?.cancel();
      return response.status;
    };
    strictEqual(await post(), 401);
    await admin.query("grant insert on api.closed to anon");
    while (await post() !== 201) continue;
  });
});

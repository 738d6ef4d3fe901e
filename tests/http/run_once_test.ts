import { deepStrictEqual, strictEqual } from "node:assert/strict";
import pg from "pg";
import { createHandler } from "../../mod.ts";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { buildRequest } from "../support/handler/request.ts";

/** Functions that notify whoever listens, which a transaction that only reads may. */
const functions = `
  create function api.tell(note text, seconds float) returns text language plpgsql as $$
    begin perform pg_notify('told', note); perform pg_sleep(seconds); return note; end $$;
  create function api.rest(note text, seconds float) returns text stable language plpgsql as $$
    begin perform pg_sleep(seconds); return note; end $$;
  create function api.before() returns void language plpgsql as $$
    begin
      perform pg_notify('told', current_setting('request.headers')::json->>'x-note');
    end $$`;

interface Case {
  readonly title: string;
  readonly routine: string;
  readonly dbPreRequest: { readonly schema: string; readonly name: string } | null;
}

const cases: readonly Case[] = [
  { title: "a volatile function that is read", routine: "tell", dbPreRequest: null },
  {
    title: "the function before requests",
    routine: "rest",
    dbPreRequest: { schema: "api", name: "before" },
  },
];

/** Reads over and over, many at once, and of some rounds one that takes long. */
async function askAll(ask: (seconds: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < 16; round++) {
    const slowest = round % 4 === 3 ? 5 : -1;
    await Promise.all(Array.from({ length: 20 }, (_, place) => ask(place === slowest ? 0.1 : 0)));
  }
}

/** What was told on the channel until `work` was done. */
async function toldDuring(uri: string, work: () => Promise<void>): Promise<readonly string[]> {
  const listener = new pg.Client({ connectionString: uri });
  await listener.connect();
  try {
    const notes: string[] = [];
    let ended!: () => void;
    const end = new Promise<void>((resolve) => ended = resolve);
    listener.on("notification", ({ payload = "" }) => {
      if (payload === "end") ended();
      else notes.push(payload);
    });
    await listener.query("listen told");
    await work();
    await listener.query("notify told, 'end'");
    await end;
    return notes;
  } finally {
    await listener.end();
  }
}

for (const { title, routine, dbPreRequest } of cases) {
  Deno.test(`${title} is called once, however long the requests beside it take`, async () => {
    const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
    try {
      const uri = database.superuserUri!;
      await withClient(uri, (client) => client.query(functions));
      const asked: string[] = [];
      const notes = await toldDuring(uri, async () => {
        const handler = createHandler({
          dbUri: database.uri,
          dbSchemas: ["api"],
          dbAnonRole: "anon",
          dbPool: 2,
          dbPreRequest,
        });
        await askAll(async (seconds) => {
          const note = `note_${asked.length}`;
          asked.push(note);
          const response = await handler(
            await buildRequest({
              line: `GET /rpc/${routine}?note=${note}&seconds=${seconds}`,
              origin: "http://localhost:3000",
            }, { headers: { "X-Note": note } }),
          );
          strictEqual(await response.json(), note);
        });
        // Which waits for all that runs.
        await handler.close();
      });
      deepStrictEqual([...notes].sort(), [...asked].sort());
    } finally {
      await database.remove();
    }
  });
}

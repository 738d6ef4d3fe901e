import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Api, apiSuite, serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";

const modes = ["commit", "commit-allow-override", "rollback", "rollback-allow-override"] as const;
const wishes = [null, "commit", "rollback"] as const;

type Mode = typeof modes[number];
type Wish = typeof wishes[number];

function isOverridable(mode: Mode): boolean {
  return mode.endsWith("-allow-override");
}

function isKept(mode: Mode, wish: Wish): boolean {
  if (isOverridable(mode) && wish !== null) return wish === "commit";
  return mode.startsWith("commit");
}

/** A change of `items`, and how it is answered when it succeeds. */
interface Change {
  readonly line: string;
  readonly parts: RequestParts;
  readonly status: number;
  readonly body: unknown;
}

const representation = { Prefer: "return=representation" };
const changes: readonly Change[] = [
  {
    line: "POST /items",
    parts: { body: { id: 2, place: 2 }, headers: representation },
    status: 201,
    body: [{ id: 2, place: 2 }],
  },
  { line: "POST /items", parts: { body: { id: 2, place: 2 } }, status: 201, body: null },
  {
    line: "PATCH /items?id=eq.1",
    parts: { body: { place: 5 }, headers: representation },
    status: 200,
    body: [{ id: 1, place: 5 }],
  },
  {
    line: "PUT /items?id=eq.3",
    parts: { body: { id: 3, place: 3 }, headers: representation },
    status: 201,
    body: [{ id: 3, place: 3 }],
  },
  {
    line: "DELETE /items?id=eq.1",
    parts: { headers: representation },
    status: 200,
    body: [{ id: 1, place: 1 }],
  },
  {
    line: "POST /rpc/add",
    parts: { body: { id: 4, place: 4 } },
    status: 200,
    body: [{ id: 4, place: 4 }],
  },
];

/** Changes that a constraint refuses: the first at once, the others at the end. */
const refused: readonly [line: string, parts: RequestParts, constraint: string][] = [
  ["POST /items", { body: { id: 1, place: 9 } }, "items_key"],
  ["POST /items", { body: { id: 2, place: 1 } }, "items_place"],
  ["PUT /items?id=eq.2", { body: { id: 2, place: 1 } }, "items_place"],
  ["POST /rpc/add", { body: { id: 2, place: 1 } }, "items_place"],
  ["POST /rpc/add", { body: { id: 1, place: 9 } }, "items_key"],
];

function wishing(parts: RequestParts, wish: Wish): RequestParts {
  const prefer = [parts.headers?.["Prefer"], wish === null ? undefined : `tx=${wish}`]
    .filter((text) => text !== undefined);
  if (prefer.length === 0) return parts;
  return { ...parts, headers: { ...parts.headers, Prefer: prefer.join(", ") } };
}

async function itemsOf(api: Api): Promise<readonly { readonly id: number }[]> {
  return await (await api("GET /items?order=id")).json();
}

/** Brings `items` back to what they were. */
async function restore(api: Api): Promise<void> {
  const headers = { Prefer: "tx=commit" };
  await api("DELETE /items", { headers });
  await api("POST /items", { body: { id: 1, place: 1 }, headers });
}

function appliedTx(response: Response): string | null {
  const applied = response.headers.get("Preference-Applied")?.split(", ") ?? [];
  return applied.find((preference) => preference.startsWith("tx=")) ?? null;
}

for (const mode of modes) {
  const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: mode };
  const createSuite = mode === "commit-allow-override" ? apiSuite : serviceSuite;
  const suite = createSuite("writes_ends", config, { title: `db-tx-end = ${mode}` });
  for (const wish of wishes) {
    const echo = isOverridable(mode) && wish !== null ? `tx=${wish}` : null;
    for (const { line, parts, status, body } of changes) {
      suite.test(`${line} with tx=${wish}`, async (api) => {
        const before = await itemsOf(api);
        const response = await api(line, wishing(parts, wish));
        strictEqual(response.status, status);
        strictEqual(appliedTx(response), echo);
        const text = await response.text();
        deepStrictEqual(text === "" ? null : JSON.parse(text), body);
        const kept = JSON.stringify(await itemsOf(api)) !== JSON.stringify(before);
        strictEqual(kept, isKept(mode, wish));
        await restore(api);
      });
    }
    suite.test(`reads and refusals with tx=${wish}`, async (api) => {
      const read = await api("GET /items", wishing({}, wish));
      deepStrictEqual([read.status, appliedTx(read)], [200, echo]);
      const call = await api("GET /rpc/items_now", wishing({}, wish));
      deepStrictEqual([call.status, appliedTx(call)], [200, echo]);
      const before = await itemsOf(api);
      for (const [line, parts, constraint] of refused) {
        const response = await api(line, wishing(parts, wish));
        const { code, message } = await response.json();
        deepStrictEqual(
          [response.status, code, message, response.headers.get("Preference-Applied")],
          [409, "23505", `duplicate key value violates unique constraint "${constraint}"`, null],
        );
        deepStrictEqual(await itemsOf(api), before);
      }
    });
  }
  suite.test("sequences go on, however it ends", async (api) => {
    const next = async () => {
      const response = await api("POST /stepped", { body: {}, headers: representation });
      return (await response.json())[0].id;
    };
    strictEqual(await next() + 1, await next());
  });
}

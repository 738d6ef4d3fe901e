/** Functions that write, whose answer shows a part of their rows. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";

const suite = apiSuite("called", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "rollback-allow-override",
  dbAggregatesEnabled: true,
});

const one = [1];
const all = [1, 2, 3];

suite.test("a limit does not stop a function that writes", async (api) => {
  const committed = { Prefer: "tx=commit" };
  for (
    const [call, body, made] of [
      ["make?limit=0", null, one],
      ["make?offset=1", null, one],
      ["make_void?limit=0", undefined, one],
      ["make_row?limit=0", null, one],
      ["make_row?n=eq.9", null, one],
      ["make_out?limit=0", null, one],
      ["make_lazily?limit=0", [], all],
      ["make_lazily?limit=1", [1], all],
      ["make_lazily?limit=1&offset=1", [2], all],
      ["make_lazily?svc_scalar=eq.2&limit=1", [2], all],
      ["make_lazily?select=count()", [{ count: 3 }], all],
      ["make_rows?limit=0", [], all],
      ["make_rows?limit=1&order=n.desc", [{ n: 3 }], all],
      ["make_table?limit=0", [], all],
      ["make_table?limit=1&select=m", [{ m: 1 }], all],
    ] as const
  ) {
    const { length } = made;
    const n = length === 1 ? 1 : 3;
    const answer = await api(`POST /rpc/${call}`, { headers: committed, body: { n } });
    if (body !== undefined) deepStrictEqual(await answer.json(), body, call);
    const rows: readonly { readonly n: number }[] = await (await api("GET /made?order=n")).json();
    deepStrictEqual(rows.map((row) => row.n), made, call);
    strictEqual((await api("DELETE /made", { headers: committed })).status, 204);
  }
});

suite.answers("a function without shown rows sets the response", { body: { n: 2 } })`
  POST /rpc/make_and_answer?limit=0
    202 []
    X-Made: yes
  POST /rpc/make_and_answer?limit=1
    202 [1]
    X-Made: yes
`;

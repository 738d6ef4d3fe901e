import { deepStrictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { answers } from "../support/handler/rows.ts";

const suite = serviceSuite("writes_shapes", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "rollback-allow-override",
}, { title: "writes_shapes, one object" });

/** A write of none, one or two rows, and the object that one row is. */
interface Write {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly lines: readonly [none: string, one: string, two: string];
  readonly bodies: readonly [none: unknown, one: unknown, two: unknown];
  readonly object: unknown;
  /** Without rows, and with. */
  readonly statuses: readonly [empty: number, shown: number];
}

const writes: readonly Write[] = [
  {
    method: "POST",
    lines: ["/single", "/single", "/single"],
    bodies: [[], { id: 7, note: "n" }, [{ id: 7 }, { id: 8 }]],
    object: { id: 7, note: "n", other: "given" },
    statuses: [201, 201],
  },
  {
    method: "PATCH",
    lines: ["/single?id=eq.9", "/single?id=eq.1", "/single"],
    bodies: [{ note: "n" }, { note: "n" }, { note: "n" }],
    object: { id: 1, note: "n", other: "first" },
    statuses: [204, 200],
  },
  {
    method: "DELETE",
    lines: ["/single?id=eq.9", "/single?id=eq.1", "/single"],
    bodies: [undefined, undefined, undefined],
    object: { id: 1, note: "one", other: "first" },
    statuses: [204, 200],
  },
];

const returns = [null, "minimal", "headers-only", "representation"] as const;
const types = ["application/vnd.svc.object+json", "application/vnd.svc.object"];

async function rowsOf(api: Api): Promise<unknown> {
  return await (await api("GET /single?order=id")).json();
}

/** Everything about the answer that the row count and `return` decide. */
async function answerOf(response: Response) {
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get("Content-Type"),
    body: text === "" ? null : JSON.parse(text),
  };
}

function refusal(rows: number) {
  return {
    status: 406,
    type: "application/json; charset=utf-8",
    body: {
      code: "SVC116",
      details: `The result contains ${rows} rows`,
      hint: null,
      message: "Cannot coerce the result to a single JSON object",
    },
  };
}

for (const { method, lines, bodies, object, statuses } of writes) {
  for (const wanted of returns) {
    for (const count of [0, 1, 2] as const) {
      suite.test(`${method} of ${count} rows, return=${wanted}`, async (api) => {
        for (const accept of types) {
          const before = await rowsOf(api);
          const prefer = ["tx=commit", ...(wanted === null ? [] : [`return=${wanted}`])];
          // What would be kept is undone where the row count is right.
          if (count === 1) prefer[0] = "tx=rollback";
          const response = await api(`${method} ${lines[count]}`, {
            body: bodies[count],
            headers: { Accept: accept, Prefer: prefer.join(", ") },
          });
          const shown = wanted === "representation";
          const expected = count !== 1 ? refusal(count) : {
            status: shown ? statuses[1] : statuses[0],
            type: shown ? "application/vnd.svc.object+json; charset=utf-8" : null,
            body: shown ? object : null,
          };
          deepStrictEqual(await answerOf(response), expected);
          deepStrictEqual(await rowsOf(api), before);
        }
      });
    }
  }
}

suite.rows("an upsert that ignores its row has none", [
  ...answers({
    headers: { Accept: types[0]!, Prefer: "resolution=merge-duplicates, return=representation" },
  })`
    POST /single
      Prefer: resolution=ignore-duplicates
      with {"id":1,"note":"n"}
      406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 0 rows
    POST /single
      with {"id":1,"note":"n"}
      200 {"id":1,"note":"n","other":"first"}
  `,
  ...answers({ headers: { Accept: types[0]!, Prefer: "return=representation" } })`
    // An inner embed takes the only row away.
    PATCH /self?id=eq.2&select=id,card!inner(text)
      with {"name":"n"}
      406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 0 rows
    PATCH /self?select=id,card!inner(text)
      with {"name":"n"}
      200 {"id":1,"card":{"text":"card of root"}}
  `,
]);

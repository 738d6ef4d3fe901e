import { deepStrictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";

const suite = serviceSuite("writes_shapes", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "rollback-allow-override",
}, { title: "writes_shapes, one object" });

const types = ["application/vnd.svc.object+json", "application/vnd.svc.object"];

/** Writes of no row and of two, which the conformance table has without `tx=commit`. */
const refused: readonly (readonly [line: string, body: unknown, rows: number])[] = [
  ["POST /single", [], 0],
  ["POST /single", [{ id: 7 }, { id: 8 }], 2],
  ["PATCH /single?id=eq.9", { note: "n" }, 0],
  ["PATCH /single", { note: "n" }, 2],
  ["DELETE /single?id=eq.9", undefined, 0],
  ["DELETE /single", undefined, 2],
];

for (const [line, body, rows] of refused) {
  suite.test(`${line} of ${rows} rows is refused and changes nothing`, async (api) => {
    const rowsOf = async () => await (await api("GET /single?order=id")).json();
    const before = await rowsOf();
    for (const Accept of types) {
      for (const result of ["minimal", "headers-only", "representation"]) {
        const Prefer = `tx=commit, return=${result}`;
        const response = await api(line, { body, headers: { Accept, Prefer } });
        const { code, details } = await response.json();
        deepStrictEqual([response.status, code, details], [
          406,
          "SVC116",
          `The result contains ${rows} rows`,
        ]);
        deepStrictEqual(await rowsOf(), before);
      }
    }
  });
}

suite.answers("an upsert that ignores its row has none", {
  headers: { Accept: "application/vnd.svc.object+json" },
})`
  POST /single {Prefer: resolution=ignore-duplicates} with {"id":1,"note":"n"}
    406 SVC116 | Cannot coerce the result to a single JSON object | The result contains 0 rows
  POST /single {Prefer: resolution=merge-duplicates, return=representation} with {"id":1,"note":"n"}
    200 {"id":1,"note":"n","other":"first"}
`;

import { strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { answer } from "../support/handler/rows.ts";

const suite = apiSuite("writes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "values that nest deep",
  engines: ["pglite"],
});
const deep = "[".repeat(20_000) + "]".repeat(20_000);

suite.rows("the engine in the process is not brought down", [
  [`GET /tools?spec=eq.${deep}`, {}, ...answer("413 54001 | stack depth limit exceeded")],
  [
    "POST /tools?columns=id,name,spec",
    { body: `{"id":9,"name":"x","spec":${deep}}`, headers: { "Content-Type": "application/json" } },
    413,
    { code: "54001", details: null, hint: null, message: "stack depth limit exceeded" },
  ],
]);

suite.test("and goes on", async (api) => {
  strictEqual((await api("GET /tools?limit=1")).status, 200);
});

import { strictEqual } from "node:assert/strict";
import { makeUsers } from "../../../tools/benchmark/fixture.ts";
import { knownCasesOf, knownSets } from "../../../tools/benchmark/known_cases.ts";
import { wrkScript } from "../../../tools/benchmark/wrk.ts";

const users = await makeUsers();
const cases = knownSets.flatMap((set) => knownCasesOf(set, users));

Deno.test("knownCasesOf() gives names that differ", () => {
  strictEqual(new Set(cases.map(({ name }) => name)).size, cases.length);
});

for (const { name, request } of cases) {
  Deno.test(`the body of "${name}" has the length of its header`, () => {
    const script = wrkScript(request, "http://127.0.0.1:3000");
    const { body = "" } = request;
    strictEqual(/Content-Length: (\d+)/.exec(script)?.[1] ?? "0", String(body.length));
    // A value that is drawn would have another length.
    strictEqual(/\{(?:user|token|\d+\.\.\d+)\}/.test(body), false);
  });
}

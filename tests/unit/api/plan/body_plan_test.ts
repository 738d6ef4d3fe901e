import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { BodyPlan } from "../../../../src/api/plan/body_plan.ts";
import { type Plan, plan } from "../../../../src/api/plan/plan.ts";
import { parseHead } from "../../../../src/api/request/parse_request.ts";
import { configOf } from "../../../support/handler/diagnosis.ts";
import { cache } from "../../../support/handler/reading.ts";
import type { Payload } from "../../../../src/api/request/body/body_decoder.ts";

type JsonPayload = Extract<Payload, { kind: "json" }>;

const config = configOf({ "db-schemas": "api", "db-uri": "postgres://localhost/db" });
const empty: JsonPayload = {
  kind: "json",
  source: "json",
  shape: "array",
  keys: ["name", "price"],
  moreKeys: 0,
  text: new Uint8Array(0),
};
const text = new TextEncoder().encode("[]");

const rows: readonly (readonly [
  name: string,
  request: string,
  keys: Partial<JsonPayload>,
  body: Partial<JsonPayload>,
  isPlannedOnce: boolean,
])[] = [
  ["an insert", "POST ", {}, {}, true],
  ["an insert of named columns", "POST columns=name", { keys: null }, { keys: null }, true],
  ["an update", "PATCH id=eq.1", { shape: "object" }, { shape: "object" }, true],
  ["other keys", "POST ", {}, { keys: ["name"] }, false],
  ["another shape", "POST ", {}, { shape: "object" }, false],
];
for (const [name, line, keys, body, isPlannedOnce] of rows) {
  Deno.test(`BodyPlan.planKeys() plans ${name} ${isPlannedOnce ? "once" : "again"}`, () => {
    const [method = "", query = ""] = line.split(" ");
    const { request, reader } = parseHead(
      { method, path: "/tools", query, headers: {}, cookies: {} },
      config,
    );
    const planner = new BodyPlan({ request, reader: reader!, cache, config });
    const first = planner.planKeys({ ...empty, ...keys });
    const payload = { ...empty, ...body, text };
    const second = planner.planKeys(payload);
    deepStrictEqual(second, plan({ ...request, payload }, cache, config));
    strictEqual(columnsOf(first) === columnsOf(second), isPlannedOnce);
  });
}

function columnsOf(planned: Plan): unknown {
  return planned.kind === "mutate" && "rows" in planned.mutate ? planned.mutate.rows.columns : null;
}

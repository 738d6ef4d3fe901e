import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { StatementPreparation } from "../../../../src/database/adapters/postgres.ts";
import {
  type PoolerFinding,
  statementsLost,
} from "../../../../src/database/adapters/pooler_probe.ts";
import type { DatabaseOptions } from "../../../../src/database/database.ts";
import { settled } from "../../../support/timing/fake_clock.ts";

/** A preparation whose probes the test answers, and what it did: `probe`, `pooler`, `prepared`. */
function preparationOf(prepare: DatabaseOptions["prepare"]) {
  const log: string[] = [];
  const probes: PromiseWithResolvers<PoolerFinding>[] = [];
  const onPooler = () => void log.push("pooler");
  const preparation = new StatementPreparation({ prepare, onPooler }, {
    probe: () => {
      log.push("probe");
      const probe = Promise.withResolvers<PoolerFinding>();
      probes.push(probe);
      return probe.promise;
    },
    apply: ({ prepare, sharesSession }) => {
      log.push(`${prepare ? "prepared" : "unnamed"}${sharesSession ? ", shared" : ""}`);
    },
  });
  return { preparation, probes, log };
}

const kept: PoolerFinding = { keepsStatements: true, sharesSession: false };
const mapped: PoolerFinding = { keepsStatements: true, sharesSession: true };

const findings: readonly (readonly [name: string, PoolerFinding, readonly string[]])[] = [
  ["without a pooler", kept, ["probe", "prepared"]],
  ["behind a pooler that knows statements", mapped, ["probe", "prepared, shared"]],
  ["behind a pooler that loses statements", statementsLost, ["probe", "unnamed, shared", "pooler"]],
];

for (const [name, finding, expected] of findings) {
  Deno.test(`StatementPreparation with auto probes once ${name}`, async () => {
    const { preparation, probes, log } = preparationOf("auto");
    strictEqual(preparation.current.prepare, false);
    const settling = [preparation.settle(), preparation.settle()];
    probes[0]!.resolve(finding);
    await Promise.all(settling);
    await preparation.settle();
    deepStrictEqual(log, expected);
  });
}

Deno.test("StatementPreparation with auto probes again after a probe that could not connect", async () => {
  const { preparation, probes, log } = preparationOf("auto");
  const first = preparation.settle();
  probes[0]!.reject(new Error("refused"));
  await first;
  strictEqual(preparation.current.prepare, false);
  const second = preparation.settle();
  probes[1]!.resolve(kept);
  await second;
  deepStrictEqual(log, ["probe", "probe", "prepared"]);
});

Deno.test("StatementPreparation with auto is unnamed from the moment a pooler is found", async () => {
  const { preparation, probes, log } = preparationOf("auto");
  const settling = preparation.settle();
  probes[0]!.resolve(kept);
  await settling;
  preparation.statementForgotten("42P05");
  preparation.statementForgotten("42P05");
  await preparation.settle();
  deepStrictEqual(log, ["probe", "prepared", "unnamed, shared", "pooler", "unnamed, shared"]);
});

for (const prepare of [true, false]) {
  Deno.test(`StatementPreparation with ${prepare} never probes, and reports a pooler`, async () => {
    const { preparation, log } = preparationOf(prepare);
    await preparation.settle();
    strictEqual(preparation.current.prepare, prepare);
    preparation.statementForgotten("42P05");
    deepStrictEqual(log, ["pooler"]);
  });
}

for (const [name, finding, logged] of findings) {
  Deno.test(`StatementPreparation probes once when the server forgets statements ${name}`, async () => {
    const { preparation, probes, log } = preparationOf(true);
    preparation.statementForgotten("26000");
    preparation.statementForgotten("26000");
    probes[0]!.resolve(finding);
    await preparation.checked;
    deepStrictEqual(log, ["probe", ...logged.filter((line) => line === "pooler")]);
  });
}

Deno.test("StatementPreparation probes when the configuration changes to auto", async () => {
  const { preparation, probes, log } = preparationOf(true);
  preparation.configure({ prepare: "auto" });
  probes[0]!.resolve(kept);
  await settled();
  preparation.configure({ prepare: "auto", usesBlocks: true });
  deepStrictEqual(log, ["unnamed, shared", "probe", "prepared", "prepared"]);
});

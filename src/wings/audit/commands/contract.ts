/** `svc contract` and `svc diff`: print what clients depend on, and what changed for them. @module */
import { readFileSync } from "node:fs";
import { type Contract, contractText, parseContract, readContract } from "../contract/contract.ts";
import { contractChanges } from "../contract/diff.ts";
import { svcDialect } from "../../../base/dialect.ts";
import { groupBy } from "../../../base/lib/group_by.ts";
import { indexSchemaCache } from "../../../state/schema_cache/lookups.ts";
import type { Service } from "../../../state/app_state/service.ts";
import type { Command } from "../../../api/command.ts";
import { print, printError } from "../../../base/observe/output.ts";

export const contractCommand: Command = {
  name: "contract",
  doc: "Show the facts of the API that clients depend on, a line each",
  flags: [],
  failureCode: 2,
  run: ({ config }, { withDatabase }) =>
    withDatabase(config, async (service) => {
      print(contractText(await contractOf(service)));
      return 0;
    }),
};

export const diffCommand: Command = {
  name: "diff",
  doc: "List changes since a contract: breaking ones first",
  flags: [],
  operands: { pattern: /\.contract$/, placeholder: "FILE.contract", doc: "Contract to compare" },
  failureCode: 2,
  run: ({ config, operands }, { withDatabase }) => {
    const [file, other] = operands;
    if (file === undefined || other !== undefined) throw new Error("diff: expected FILE.contract");
    const old = parseContract(readFileSync(file, "utf8"), file);
    return withDatabase(config, async (service) => {
      const { dbAnonRole: anonymous } = await service.readConfig();
      const changes = contractChanges({ old, now: await contractOf(service), anonymous });
      for (const { level, text, sql } of changes) {
        print(`${level.padEnd(8)}  ${text}${sql === null ? "" : `        -- ${sql}`}\n`);
      }
      const counts = Array.from(
        groupBy(changes, ({ level }) => level),
        ([level, found]) => `${found.length} ${level}`,
      );
      printError(`${svcDialect.productToken} diff: ${counts.join(", ") || "no changes"}`);
      return changes.some(({ level }) => level === "breaking") ? 1 : 0;
    });
  },
};

async function contractOf(service: Service): Promise<Contract> {
  const config = await service.readConfig();
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  return await readContract(service.database, { config, cache: indexSchemaCache(data) });
}

/** `svc contract` and `svc diff`: print what clients depend on, and what changed for them. @module */
import { readFileSync } from "node:fs";
import { type Contract, contractText, parseContract, readContract } from "../contract/contract.ts";
import { contractChanges } from "../contract/diff.ts";
import { svcDialect } from "../../../base/dialect.ts";
import { groupBy } from "../../../base/lib/group_by.ts";
import { indexSchemaCache } from "../../../state/schema_cache/lookups.ts";
import type { AppState } from "../../../state/app_state/app_state.ts";
import type { OpenGuard } from "../../../api/handler/exchange.ts";
import type { Command } from "../../../api/command.ts";
import { callWords } from "../../../state/config/call_words.ts";
import type { ConfigArguments } from "../../../state/config/config_files.ts";
import { print, printError } from "../../../base/observe/output.ts";

export const contractCommand: Command = {
  name: "contract",
  doc: "Show the facts of the API that clients depend on, a line each",
  example: "contract svc.conf > api.contract",
  page: "docs/how-to/find-breaking-changes.md",
  flags: [],
  failureCode: 2,
  run: ({ config }, { withDatabase, openGuard }) =>
    withDatabase(config, async (appState) => {
      print(contractText(await contractOf(appState, openGuard)));
      return 0;
    }),
};

export const diffCommand: Command = {
  name: "diff",
  doc: "List changes since a contract: breaking ones first",
  example: "diff api.contract svc.conf",
  page: "docs/how-to/find-breaking-changes.md",
  flags: [],
  operands: { pattern: /\.contract$/, placeholder: "FILE.contract", doc: "Contract to compare" },
  failureCode: 2,
  run: ({ config, operands }, { withDatabase, openGuard }) => {
    const [file, other] = operands;
    if (file === undefined || other !== undefined) throw new Error(expectedFile(config));
    const old = parseContract(readFileSync(file, "utf8"), file);
    return withDatabase(config, async (appState) => {
      const { dbAnonRole: anonymous } = await appState.readConfig();
      const changes = contractChanges({
        old,
        now: await contractOf(appState, openGuard),
        anonymous,
      });
      for (const { level, text, sql } of changes) {
        print(`${level.padEnd(8)}  ${text}${sql === null ? "" : `        -- ${sql}`}\n`);
      }
      const counts = Array.from(
        groupBy(changes, ({ level }) => level),
        ([level, group]) => `${group.length} ${level}`,
      );
      printError(`${svcDialect.productToken} diff: ${counts.join(", ") || "no changes"}`);
      return changes.some(({ level }) => level === "breaking") ? 1 : 0;
    });
  },
};

/** Returns a message that explains how to create the file. */
function expectedFile(config: ConfigArguments): string {
  const { program, source } = callWords(config);
  const words = [program, "contract", source].filter((word) => word !== "").join(" ");
  return `diff: expected FILE.contract, which this writes: ${words} > api.contract`;
}

async function contractOf(appState: AppState, openGuard: OpenGuard): Promise<Contract> {
  const config = await appState.readConfig();
  const cache = indexSchemaCache(await appState.readSchema());
  const operations = openGuard({ ...appState.snapshot, config, cache })?.operations?.() ?? [];
  return await readContract(appState.database, { config, cache, operations });
}

/** Runs policy tests against each mutant. @module */
import { refusal } from "../../../database/connection/savepoint_database.ts";
import { printable } from "../../../base/lib/printable.ts";
import { type AccessCell, readAccess } from "../access/cells.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import {
  type CallerRole,
  type CaseState,
  type NamedCases,
  runCase,
  withCases,
} from "../policy_test/case_handler.ts";
import { holdSequences } from "../policy_test/sequences.ts";
import { exposedRelations, keyOf } from "../policy_test/targets.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";

/**
 * Applies each mutant in a savepoint, and runs cases until one fails. All cases must pass without
 * mutants. Resolves with a summary, and with a line for each mutant that changes the access of a
 * caller and that no case detects.
 */
export async function mutationText(files: readonly NamedCases[]) {
  const noticed = new Set<string>();
  /** Line of each mutant that no case detects, by its SQL; an empty text if the callers' access is unchanged. */
  const others = new Map<string, string>();
  for (const named of files) {
    await withCases(named, async (plain, callers) => {
      const state = await holdSequences(plain);
      const { database } = state;
      const cells = await readCells(state, callers);
      const views = exposedRelations(state).filter(({ isView }) => isView).map(keyOf);
      for (const mutant of mutantsOf(cells, new Set(views))) {
        const { sql } = mutant;
        if (noticed.has(sql)) continue;
        const line = await database.within(async () => {
          await database.run(sql);
          if (await isNoticed(state, named, mutant)) return null;
          const hasEffect = accessText(await readCells(state, callers)) !== accessText(cells);
          return hasEffect ? `no case notices: ${sql}` : "";
        }).catch((error) => {
          const message = refusal(error);
          // A failed ALTER VIEW is ignored: materialized views and PostgreSQL 14 have no `security_invoker`.
          return sql.startsWith("alter view") ? "" : `cannot test: ${sql}: ${message}`;
        });
        if (line === null) noticed.add(sql);
        else others.set(sql, line || others.get(sql) || "");
      }
    });
  }
  const lines = [...others].filter(([sql]) => !noticed.has(sql)).map(([, line]) => line);
  const open = lines.filter((line) => line !== "");
  const counts = `${noticed.size} changes noticed, ${open.length} not noticed`;
  return {
    text: open.map((line) => `${printable(line)}\n`).join(""),
    summary: `${counts}, ${lines.length - open.length} without effect on the callers`,
  };
}

/** Returns whether a case fails. Cases whose request names the relation run first. */
async function isNoticed(state: CaseState, { name, file }: NamedCases, { relation }: Mutant) {
  const word = relation.replace(/^[^.]*\.|\(.*/g, "");
  const isOther = ({ target }: CaseRequest) => target.includes(word) ? 0 : 1;
  for (const each of file.cases.toSorted((a, b) => isOther(a) - isOther(b))) {
    if ((await runCase(state, name, each)).difference !== null) return true;
  }
  return false;
}

/** Reads the access of the callers' roles. */
async function readCells(
  { appState: { snapshot: { config } }, database }: CaseState,
  callers: readonly CallerRole[],
): Promise<readonly AccessCell[]> {
  const cells: AccessCell[] = [];
  for (const role of new Set(callers.map((each) => each.role))) {
    cells.push(...(await readAccess(database, { config, role })).cells);
  }
  return cells;
}

/** Returns what cells permit, without the reasons for refused access. */
function accessText(cells: readonly AccessCell[]): string {
  return JSON.stringify(cells.map((cell) => cell.may === "no" ? cell.may : cell));
}

/** Runs policy tests against each mutant, and suggests a case for a mutant that none of them notices. @module */
import { refusal } from "../../../database/connection/savepoint_database.ts";
import { printable } from "../../../base/lib/printable.ts";
import { type AccessCell, readAccess } from "../access/cells.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import {
  type CallerRole,
  type CaseState,
  type NamedCases,
  readAnswer,
  runCase,
  withCases,
} from "../policy_test/case_handler.ts";
import { answerText } from "../policy_test/expectation.ts";
import { holdSequences, Probe } from "../policy_test/probe.ts";
import {
  callerRequests,
  cellKey,
  exposedRelations,
  fixtureRows,
  keyOf,
} from "../policy_test/targets.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";

/** A mutant that no case notices. */
interface Survivor extends Mutant {
  /** PostgreSQL's error if it refuses the change; null otherwise. */
  readonly error: string | null;
  /** A case that notices it; null without one. */
  readonly suggestion: string | null;
}

/**
 * Applies each mutant in a savepoint, and runs cases until one fails. All cases pass without a mutant. Resolves with
 * a sentence for each mutant that concerns a caller and that no case notices, and with a summary.
 */
export async function mutationText(files: readonly NamedCases[]) {
  const survivors = new Map<string, Survivor>();
  const noticed = new Set<string>();
  for (const named of files) {
    await withCases(named, async (plain, callers) => {
      const state = await holdSequences(plain);
      const { database } = state;
      const suggest = await caseSuggester(state, callers);
      const cells = await readCells(state, callers);
      const views = exposedRelations(state).filter(({ isView }) => isView).map(keyOf);
      for (const mutant of mutantsOf(cells, new Set(views))) {
        if (noticed.has(mutant.sql)) continue;
        const earlier = survivors.get(mutant.sql);
        let matters = mutant.matters || earlier?.matters === true;
        const error = await database.within(async () => {
          await database.run(mutant.sql);
          if (await isNoticed(state, named, mutant)) noticed.add(mutant.sql);
          else matters &&= accessText(await readCells(state, callers)) !== accessText(cells);
          return null;
        }).catch(refusal);
        // A materialized view has no such option, nor has PostgreSQL 14.
        matters &&= error === null || !mutant.sql.startsWith("alter view");
        survivors.delete(mutant.sql);
        if (noticed.has(mutant.sql)) continue;
        const suggestion = earlier?.suggestion ?? (matters ? await suggest(mutant) : null);
        survivors.set(mutant.sql, { ...mutant, matters, error, suggestion });
      }
    });
  }
  const open = [...survivors.values()].filter(({ matters }) => matters);
  const text = open.map(({ sql, effect, error, suggestion }) => {
    const line = suggestion === null ? "" : `: ${suggestion}`;
    const failure = `cannot test that ${effect}: ${sql}: ${error}`;
    return `${printable(error === null ? `no case notices that ${effect}${line}` : failure)}\n`;
  }).join("");
  const apart = survivors.size - open.length;
  const counts = `${noticed.size} changes noticed, ${open.length} not noticed`;
  return { text, summary: `${counts}, ${apart} without effect on the callers` };
}

/** Runs the cases of the relation first. */
async function isNoticed(state: CaseState, { name, file }: NamedCases, { relation }: Mutant) {
  const word = relation.replace(/^[^.]*\.|\(.*/g, "");
  const isOther = ({ target }: CaseRequest) => target.includes(word) ? 0 : 1;
  for (const each of file.cases.toSorted((a, b) => isOther(a) - isOther(b))) {
    if ((await runCase(state, name, each)).difference !== null) return true;
  }
  return false;
}

/** Reads the access of the roles of callers. */
async function readCells(
  { appState: { snapshot: { config } }, database }: CaseState,
  callers: readonly CallerRole[],
): Promise<readonly AccessCell[]> {
  const found: AccessCell[] = [];
  for (const role of new Set(callers.map((each) => each.role))) {
    found.push(...(await readAccess(database, { config, role })).cells);
  }
  return found;
}

/** Returns what cells permit. */
const accessText = (cells: readonly AccessCell[]): string =>
  JSON.stringify(
    cells.map((
      { may, columns, policies, past, reason },
    ) => [may, columns, policies, past, may === "no" ? null : reason]),
  );

/** Resolves with the function that finds the first generated request whose answer a mutant changes. */
async function caseSuggester(state: CaseState, callers: readonly CallerRole[]) {
  const { database } = state;
  const probes: (readonly [Probe, Awaited<ReturnType<typeof callerRequests>>])[] = [];
  for (const caller of callers) {
    const read = async (_: CaseRequest, response: Response) =>
      answerText(await readAnswer(response));
    const requests = await callerRequests(state, caller.role, fixtureRows(state));
    probes.push([new Probe(state, caller, read), requests]);
  }
  return async ({ relation, sql }: Mutant): Promise<string | null> => {
    for (const [probe, all] of probes) {
      const own = all.get(cellKey(relation)) ?? [];
      const requests = own.filter(({ headers }) => headers.length === 0);
      await probe.record(requests);
      const found = await database.within(async () => {
        await database.run(sql);
        for await (const [each] of probe.differences(requests)) return each;
        return null;
      }).catch(refusal);
      if (found === null || typeof found === "string") continue;
      const { method, target, body } = found;
      const line = [probe.caller.name, method, target, body ?? []].flat().join(" ");
      return `${line} => ${probe.answers.get(found)}`;
    }
    return null;
  };
}

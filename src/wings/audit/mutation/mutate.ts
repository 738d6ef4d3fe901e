/** Runs policy tests against each mutant, and suggests a case for a mutant that none of them notices. @module */
import { StatementError } from "../../../database/connection/savepoint_database.ts";
import { printable } from "../../../base/lib/printable.ts";
import { type AccessCell, readAccess } from "../access/cells.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import {
  caseRunner,
  type CaseState,
  type NamedCases,
  readAnswer,
  requestSender,
  withCaseState,
} from "../policy_test/case_handler.ts";
import {
  answerText,
  differenceOf,
  type Expectation,
  parseExpectation,
} from "../policy_test/expectation.ts";
import { holdSequences } from "../policy_test/sequences.ts";
import {
  callerRequests,
  cellKey,
  exposedRelations,
  fixtureRows,
  keyOf,
  roleOf,
} from "../policy_test/targets.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";

/** A mutant that no case notices. */
interface Survivor extends Mutant {
  /** PostgreSQL's error if it refuses the change; null otherwise. */
  readonly refusal: string | null;
  /** A case that notices it; null without one. */
  suggestion: string | null;
}

/**
 * Applies each mutant in a savepoint, and runs cases until one fails. All cases pass without a mutant. Resolves with
 * a sentence for each mutant that concerns a caller and that no case notices, and with a summary.
 */
export async function mutationText(files: readonly NamedCases[]) {
  const survivors = new Map<string, Survivor>();
  const noticed = new Set<string>();
  for (const named of files) {
    await withState(named, async (state) => {
      const run = await caseRunner(state, named);
      const cells = await readCells(state, named);
      const views = exposedRelations(state).filter(({ isView }) => isView).map(keyOf);
      for (const mutant of mutantsOf(cells, new Set(views))) {
        if (noticed.has(mutant.sql)) continue;
        const name = mutant.relation.replace(/^[^.]*\.|\(.*/g, "");
        const isOther = ({ target }: CaseRequest) => target.includes(name) ? 0 : 1;
        const cases = named.file.cases.toSorted((a, b) => isOther(a) - isOther(b));
        let matters = mutant.matters || survivors.get(mutant.sql)?.matters === true;
        const refusal = await withMutant(state, mutant, async () => {
          for (const each of cases) {
            if ((await run(each)).difference !== null) return void noticed.add(mutant.sql);
          }
          matters &&= accessText(await readCells(state, named)) !== accessText(cells);
        });
        // A materialized view has no such option, nor has PostgreSQL 14.
        matters &&= refusal === null || !mutant.sql.startsWith("alter view");
        if (noticed.has(mutant.sql)) survivors.delete(mutant.sql);
        else survivors.set(mutant.sql, { ...mutant, matters, refusal, suggestion: null });
      }
    });
  }
  const open = [...survivors.values()].filter(({ matters }) => matters);
  for (const named of open.length === 0 ? [] : files) {
    await withState(named, (state) => suggestCases(state, named, open));
  }
  const text = open.map(({ sql, effect, refusal, suggestion }) => {
    const line = suggestion === null ? "" : `: ${suggestion}`;
    const failure = `cannot test that ${effect}: ${sql}: ${refusal}`;
    return `${printable(refusal === null ? `no case notices that ${effect}${line}` : failure)}\n`;
  }).join("");
  const apart = survivors.size - open.length;
  const counts = `${noticed.size} changes noticed, ${open.length} not noticed`;
  return { text, summary: `${counts}, ${apart} without effect on the callers` };
}

function withState(named: NamedCases, use: (state: CaseState) => Promise<void>): Promise<void> {
  const { name, file: { fixtures }, setup } = named;
  return withCaseState(setup, { name, text: fixtures }, use);
}

/** Reads the access of the roles of callers. */
async function readCells(state: CaseState, { file }: NamedCases): Promise<readonly AccessCell[]> {
  const { appState: { snapshot: { config } }, database } = state;
  const roles = new Set(Array.from(file.callers.values(), (caller) => roleOf(caller, state)));
  const found: AccessCell[] = [];
  for (const role of roles) {
    if (role !== null) found.push(...(await readAccess(database, { config, role })).cells);
  }
  return found;
}

/** Returns what cells permit. */
function accessText(cells: readonly AccessCell[]): string {
  return JSON.stringify(
    cells.map((
      { may, columns, policies, past, reason },
    ) => [may, columns, policies, past, may === "no" ? null : reason]),
  );
}

/** Resolves with PostgreSQL's error if it refuses the mutant. */
function withMutant({ database }: CaseState, { sql }: Mutant, use: () => Promise<void>) {
  return database.within(async () => {
    try {
      await database.run(sql);
    } catch (error) {
      if (error instanceof StatementError) return error.message;
      throw error;
    }
    await use();
    return null;
  });
}

/** Finds for each survivor the first generated request whose answer it changes. */
async function suggestCases(
  state: CaseState,
  { file, setup }: NamedCases,
  survivors: readonly Survivor[],
): Promise<void> {
  const send = requestSender(state, setup);
  const resetSequences = await holdSequences(state.database);
  for (const [name, caller] of file.callers) {
    const role = roleOf(caller, state);
    if (role === null) continue;
    const requestsByKey = await callerRequests(state, role, fixtureRows(state));
    const answerTo = async (request: CaseRequest) => {
      if (request.method === "POST") await resetSequences();
      return await readAnswer(await send(caller, request));
    };
    const answersOf = new Map<string, string[]>();
    for (const survivor of survivors.filter(({ suggestion }) => suggestion === null)) {
      const all = requestsByKey.get(cellKey(survivor.relation)) ?? [];
      const requests = all.filter(({ headers }) => headers.length === 0);
      const answers = answersOf.get(survivor.relation) ?? [];
      answersOf.set(survivor.relation, answers);
      for (const each of requests.slice(answers.length)) {
        answers.push(answerText(await answerTo(each)));
      }
      await withMutant(state, survivor, async () => {
        for (const [at, { method, target, body }] of requests.entries()) {
          const expected = parseExpectation(answers[at]!) as Expectation;
          if (differenceOf(expected, await answerTo(requests[at]!)) === null) continue;
          const line = [name, method, target, body ?? [], "=>", answers[at]!].flat().join(" ");
          return void (survivor.suggestion = line);
        }
      });
    }
  }
}

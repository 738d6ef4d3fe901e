/** Runs the cases of a file, each from the state behind the fixtures. @module */
import { serviceHandler } from "../handler/handler.ts";
import {
  identityOf,
  readAnswer,
  requestOf,
  type RunSetup,
  withCaseService,
} from "./case_handler.ts";
import type { CaseFile, PolicyCase } from "./case_file.ts";
import { type CaseAnswer, differenceOf } from "./expectation.ts";
import { answerText } from "./report.ts";

/** The result of a case. */
export interface CaseResult {
  readonly case: PolicyCase;
  /** That of the caller; null without an anonymous role. */
  readonly role: string | null;
  readonly answer: CaseAnswer;
  /** Null if the case passed. */
  readonly difference: string | null;
}

/** The results of a file. */
export interface FileResult {
  /** As named in reports. */
  readonly name: string;
  readonly results: readonly CaseResult[];
}

/** Runs a file in one transaction, which rolls back. Rejects as `withFixtures` does. */
export async function runFile(name: string, file: CaseFile, setup: RunSetup): Promise<FileResult> {
  const script = { name, text: file.fixtures };
  return await withCaseService(setup, script, async ({ service }) => {
    const handle = serviceHandler(service);
    const { config } = service.snapshot;
    const results: CaseResult[] = [];
    for (const each of file.cases) {
      const identity = identityOf(file, each.caller, config);
      const info = { isUnlogged: true, ...identity === null ? {} : { identity } };
      const answer = await readAnswer(await handle(requestOf(each), info));
      const difference = each.expectation === null
        ? `expected nothing, got ${answerText(answer)}; --write adds it`
        : differenceOf(each.expectation, answer);
      const role = identity?.role ?? config.dbAnonRole;
      results.push({ case: each, role, answer, difference });
    }
    return { name, results };
  });
}

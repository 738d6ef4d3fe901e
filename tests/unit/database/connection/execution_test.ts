import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type {
  Batch,
  BatchResult,
  ColumnBounds,
  Statement,
} from "../../../../src/database/batch.ts";
import { BatchExecution } from "../../../../src/database/connection/execution.ts";
import { readServerError } from "../../../../src/database/protocol/server_error.ts";
import {
  failure,
  type FailureParts,
  FakeTransport,
} from "../../../support/database/fake_backend.ts";
import { blockRead, blockWrite, implicitRead } from "../../../support/database/fake_connection.ts";

const settings: Statement = { text: "settings", params: [], use: "none" };
const preRequest: Statement = { text: "pre", params: [], use: "none", runsUserCode: true };
const main: Statement = { text: "main", params: [], use: "result" };
const userMain: Statement = { ...main, runsUserCode: true };

/** Starts to follow a batch that was sent. */
function start(batch: Batch, { isRetry = false } = {}): BatchExecution {
  const execution = new BatchExecution({ batch, resolve: () => {}, reject: () => {} }, {
    form: batch.transaction.form,
    body: {
      transport: new FakeTransport(),
      mayStream: false,
      freesChunks: false,
      spool: null,
      now: () => 0,
    },
    isRetry,
  });
  send(execution, execution.statementsToSend());
  return execution;
}

function send(execution: BatchExecution, statements: readonly Statement[]): void {
  execution.sent(statements.map(({ text, use, runsUserCode = false }) => ({
    text,
    use,
    runsUserCode,
    context: null,
    preparing: null,
  })));
}

function complete(execution: BatchExecution, statements: number): void {
  for (let count = 0; count < statements; count++) {
    execution.bound();
    execution.completed();
  }
}

const stale = "cached plan must not change result type";
const stalePlan = { routine: "RevalidateCachedQuery" } as const;

interface RetryRow {
  readonly name: string;
  readonly statements: readonly Statement[];
  /** Statements that were completed, BEGIN included. */
  readonly completed: number;
  readonly isBound?: boolean;
  readonly form?: "implicit" | "block";
  readonly isRetry?: boolean;
  readonly error: readonly [sqlstate: string, message: string, parts?: FailureParts];
  readonly mayRetry: boolean;
}

const retryRows: readonly RetryRow[] = [
  {
    name: "26000 before BindComplete",
    statements: [settings, main],
    completed: 1,
    error: ["26000", "does not exist"],
    mayRetry: true,
  },
  {
    name: "0A000 before BindComplete, in any language",
    statements: [settings, userMain],
    completed: 1,
    error: ["0A000", "gecachter Plan darf den Ergebnistyp nicht ändern", stalePlan],
    mayRetry: true,
  },
  {
    name: "0A000 of another routine",
    statements: [settings, main],
    completed: 1,
    error: ["0A000", stale, { routine: "transformSubLink" }],
    mayRetry: false,
  },
  {
    name: "0A000 of a plan that a function keeps",
    statements: [settings, main],
    completed: 1,
    error: ["0A000", stale, {
      ...stalePlan,
      context: "PL/pgSQL function f() line 1 at SQL statement",
    }],
    mayRetry: false,
  },
  {
    name: "26000 after BindComplete",
    statements: [settings, main],
    completed: 1,
    isBound: true,
    error: ["26000", "does not exist"],
    mayRetry: false,
  },
  {
    name: "0A000 after BindComplete",
    statements: [settings, main],
    completed: 1,
    isBound: true,
    error: ["0A000", stale, stalePlan],
    mayRetry: false,
  },
  {
    name: "26000 raised in a function that planning calls",
    statements: [settings, main],
    completed: 1,
    error: ["26000", "does not exist", { context: "PL/pgSQL function f() line 1 at RAISE" }],
    mayRetry: false,
  },
  {
    name: "26000 after a statement that runs user-defined code",
    statements: [settings, preRequest, main],
    completed: 2,
    error: ["26000", "does not exist"],
    mayRetry: false,
  },
  {
    name: "26000 of the statement that runs user-defined code",
    statements: [settings, preRequest, main],
    completed: 1,
    error: ["26000", "does not exist"],
    mayRetry: true,
  },
  {
    name: "26000 in a block",
    form: "block",
    statements: [settings, main],
    completed: 2,
    error: ["26000", "does not exist"],
    mayRetry: true,
  },
  {
    name: "26000 of the COMMIT after user-defined code",
    form: "block",
    statements: [settings, userMain],
    completed: 3,
    error: ["26000", "does not exist"],
    mayRetry: false,
  },
  {
    name: "26000 of the end of an implicit transaction, where deferred triggers run",
    statements: [settings, main],
    completed: 2,
    error: ["26000", "does not exist"],
    mayRetry: false,
  },
  {
    name: "26000 of the second attempt",
    statements: [settings, main],
    completed: 0,
    isRetry: true,
    error: ["26000", "does not exist"],
    mayRetry: false,
  },
  {
    name: "25001 of the first statement",
    statements: [settings, main],
    completed: 0,
    isBound: true,
    error: ["25001", "must not be in a subtransaction"],
    mayRetry: true,
  },
  {
    name: "25001 of the second statement",
    statements: [settings, main],
    completed: 1,
    isBound: true,
    error: ["25001", ""],
    mayRetry: false,
  },
  {
    name: "25001 in a block",
    form: "block",
    statements: [settings, main],
    completed: 0,
    isBound: true,
    error: ["25001", ""],
    mayRetry: false,
  },
  {
    name: "22P02",
    statements: [settings, main],
    completed: 1,
    error: ["22P02", "invalid input syntax"],
    mayRetry: false,
  },
];

for (const row of retryRows) {
  Deno.test(`BatchExecution.mayRetry is ${row.mayRetry} after ${row.name}`, () => {
    const { statements, completed, isBound = false, form = "implicit", isRetry = false } = row;
    const { transaction } = form === "implicit" ? implicitRead : blockRead;
    const execution = start({ ...blockRead, transaction, statements }, { isRetry });
    complete(execution, completed);
    if (isBound) execution.bound();
    execution.failed(readServerError(failure(...row.error).subarray(5)));
    strictEqual(execution.mayRetry, row.mayRetry);
  });
}

const commits: readonly (readonly [name: string, main: Statement, mayRetry: boolean])[] = [
  ["after statements that run no user-defined code", main, true],
  ["after user-defined code", userMain, false],
];

for (const [name, statement, mayRetry] of commits) {
  Deno.test(`BatchExecution.mayRetry is ${mayRetry} after 26000 of a decided COMMIT ${name}`, () => {
    const transaction = { form: "block", isolation: "read committed", end: [] } as const;
    const execution = start({ ...blockWrite, statements: [statement], transaction });
    complete(execution, 2);
    execution.phase = "end";
    send(execution, [{ text: "commit", params: [], use: "none" }]);
    execution.failed(readServerError(failure("26000", "does not exist").subarray(5)));
    strictEqual(execution.mayRetry, mayRetry);
  });
}

Deno.test("BatchExecution.mayRetry is false once the result is settled", () => {
  const execution = start(implicitRead);
  execution.requeue();
  execution.failed(readServerError(failure("26000", "does not exist").subarray(5)));
  strictEqual(execution.mayRetry, false);
});

interface BoundsRow {
  readonly name: string;
  readonly head: readonly (string | null)[];
  readonly bounds: readonly ColumnBounds[];
  readonly ended: "commit" | "rollback";
}

const exactlyOne: ColumnBounds = { columns: [0], min: 1, max: 1 };

const boundsRows: readonly BoundsRow[] = [
  { name: "no bounds", head: [], bounds: [], ended: "commit" },
  { name: "the minimum", head: ["1"], bounds: [{ ...exactlyOne, max: 5 }], ended: "commit" },
  { name: "the maximum", head: ["5"], bounds: [{ ...exactlyOne, max: 5 }], ended: "commit" },
  { name: "less than the minimum", head: ["0"], bounds: [exactlyOne], ended: "rollback" },
  { name: "more than the maximum", head: ["2"], bounds: [exactlyOne], ended: "rollback" },
  { name: "NULL, which is 0", head: [null], bounds: [exactlyOne], ended: "rollback" },
  {
    name: "NULL where 0 is allowed",
    head: [null],
    bounds: [{ columns: [0], min: 0, max: 0 }],
    ended: "commit",
  },
  { name: "no row, which is 0", head: [], bounds: [exactlyOne], ended: "rollback" },
  {
    name: "the first column that is not NULL",
    head: [null, "1", "7"],
    bounds: [{ ...exactlyOne, columns: [0, 1, 2] }],
    ended: "commit",
  },
  {
    name: "columns in the order of the bounds",
    head: ["1", "7"],
    bounds: [{ ...exactlyOne, columns: [1, 0] }],
    ended: "rollback",
  },
  {
    name: "several bounds of which one does not hold",
    head: ["1", "7"],
    bounds: [exactlyOne, { columns: [1], min: 0, max: 6 }],
    ended: "rollback",
  },
  {
    name: "several bounds that hold",
    head: ["1", "6"],
    bounds: [exactlyOne, { columns: [1], min: 0, max: Infinity }],
    ended: "commit",
  },
  { name: "a text that is no number", head: ["many"], bounds: [exactlyOne], ended: "rollback" },
];

for (const { name, head, bounds, ended } of boundsRows) {
  Deno.test(`BatchExecution.endStatements() returns ${ended} for ${name}`, () => {
    const transaction = { form: "block", isolation: "read committed", end: bounds } as const;
    const execution = start({ ...blockWrite, statements: [main], transaction });
    complete(execution, 1);
    if (head.length > 0) execution.rowStart(head, null);
    deepStrictEqual(execution.endStatements(bounds).map(({ text }) => text), [ended]);
  });
}

const closing = { text: "closing", params: [], use: "none" } as const;

Deno.test("BatchExecution.endStatements() puts the closing statement before COMMIT only", () => {
  const transaction = { form: "block", isolation: "read committed", end: [exactlyOne] } as const;
  const heads: string[] = [];
  const batch = {
    ...blockWrite,
    statements: [main],
    transaction,
    closing: ({ columns }: BatchResult) => {
      heads.push(columns[0]!);
      return closing;
    },
  };
  const texts = ["1", "2"].map((rows) => {
    const execution = start(batch);
    complete(execution, 1);
    execution.rowStart([rows], null);
    return execution.endStatements([exactlyOne]).map(({ text }) => text);
  });
  deepStrictEqual(texts, [["closing", "commit"], ["rollback"]]);
  deepStrictEqual(heads, ["1"]);
});

/** Whether the end is confirmed after each statement that was completed, BEGIN included. */
const endRows: readonly (readonly [name: string, batch: Batch, hasEnded: readonly boolean[]])[] = [
  ["an implicit read", implicitRead, [false, false, true]],
  ["an implicit write", { ...blockWrite, transaction: { form: "implicit" } }, [
    false,
    false,
    false,
  ]],
  ["a read in a block", blockRead, [false, false, false, false, true]],
  ["a write in a block", blockWrite, [false, false, false, false, true]],
  [
    "a write whose end is to be decided",
    { ...blockWrite, transaction: { form: "block", isolation: "read committed", end: [] } },
    [false, false, false, false],
  ],
];

for (const [name, batch, expected] of endRows) {
  Deno.test(`BatchExecution.hasEnded is true once ${name} is over for certain`, () => {
    const execution = start(batch);
    const ended = expected.map((_, completed) => {
      if (completed > 0) complete(execution, 1);
      return execution.hasEnded;
    });
    deepStrictEqual(ended, expected);
  });
}

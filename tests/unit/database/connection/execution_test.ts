import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type {
  OpenTransaction,
  Statement,
  Transaction,
} from "../../../../src/database/transaction.ts";
import { TransactionExecution } from "../../../../src/database/connection/execution.ts";
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

/** Starts to follow a transaction that was sent. */
function start(transaction: Transaction, { isRetry = false } = {}): TransactionExecution {
  const execution = new TransactionExecution({ transaction, resolve: () => {}, reject: () => {} }, {
    form: transaction.block === null ? "implicit" : "block",
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

function send(execution: TransactionExecution, statements: readonly Statement[]): void {
  execution.sent(statements.map(({ text, use, runsUserCode = false }) => ({
    text,
    use,
    runsUserCode,
    context: null,
    preparing: null,
  })));
}

function complete(execution: TransactionExecution, statements: number): void {
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
  Deno.test(`TransactionExecution.mayRetry is ${row.mayRetry} after ${row.name}`, () => {
    const { statements, completed, isBound = false, form = "implicit", isRetry = false } = row;
    const { block } = form === "implicit" ? implicitRead : blockRead;
    const execution = start({ ...blockRead, block, statements }, { isRetry });
    complete(execution, completed);
    if (isBound) execution.bound();
    execution.failed(readServerError(failure(...row.error).subarray(5)));
    strictEqual(execution.mayRetry, row.mayRetry);
  });
}

Deno.test("BatchExecution.mayRetry is false once statements have a result", () => {
  const block = { isolation: "read committed", end: "open" } as const;
  const execution = start({ ...blockWrite, statements: [main], block });
  complete(execution, 2);
  execution.resolveStep({} as OpenTransaction);
  execution.stepToSend([], "commit", { resolve: () => {}, reject: () => {} });
  send(execution, [{ text: "commit", params: [], use: "none" }]);
  execution.failed(readServerError(failure("26000", "does not exist").subarray(5)));
  strictEqual(execution.mayRetry, false);
});

Deno.test("BatchExecution.mayRetry is false once the result is settled", () => {
  const execution = start(implicitRead);
  execution.requeue();
  execution.failed(readServerError(failure("26000", "does not exist").subarray(5)));
  strictEqual(execution.mayRetry, false);
});

/** Whether the end is confirmed after each statement that was completed, BEGIN included. */
const endRows:
  readonly (readonly [name: string, transaction: Transaction, hasEnded: readonly boolean[]])[] = [
    ["an implicit read", implicitRead, [false, false, true]],
    ["an implicit write", { ...blockWrite, block: null }, [
      false,
      false,
      false,
    ]],
    ["a read in a block", blockRead, [false, false, false, false, true]],
    ["a write in a block", blockWrite, [false, false, false, false, true]],
    [
      "a write whose end is to be decided",
      { ...blockWrite, block: { isolation: "read committed", end: "open" } },
      [false, false, false, false],
    ],
  ];

for (const [name, transaction, expected] of endRows) {
  Deno.test(`TransactionExecution.hasEnded is true once ${name} is over for certain`, () => {
    const execution = start(transaction);
    const ended = expected.map((_, completed) => {
      if (completed > 0) complete(execution, 1);
      return execution.hasEnded;
    });
    deepStrictEqual(ended, expected);
  });
}

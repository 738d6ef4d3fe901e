/** The statements that undo changes of the session by functions. Sources: PostgreSQL documentation,
 * "DISCARD", and the view `pg_prepared_statements`. @module */
import type { AccessMode, Statement } from "../transaction.ts";
import type { PendingTransaction } from "./execution.ts";

/** The state that a connection keeps between transactions. */
export interface KeptState {
  /** Whether statements are executed by their names, which a function could prepare again. */
  readonly names: boolean;
  /** Whether the session has the defaults of {@linkcode connectionSetup}. */
  readonly defaults: boolean;
}

/**
 * A function can read the names of prepared statements, and prepare another text under one of them.
 * The check ends such a connection, before a statement is executed by its name. It also ends a
 * connection with cursors WITH HOLD, or with channels to which the session listens. The check is the
 * unnamed statement, which functions cannot replace, and runs as the login role.
 */
const checkText = (names: boolean) =>
  `select pg_catalog.set_config('role', 'none', false), pg_catalog.pg_advisory_unlock_all(),
pg_catalog.setseed(pg_catalog.hashtext(pg_catalog.gen_random_uuid()::pg_catalog.text)::float
operator(pg_catalog./) 2147483648::float), case when exists (
select from pg_catalog.pg_cursor() where is_holdable) or exists (
select from pg_catalog.pg_listening_channels())${
    names ? " or exists (select from pg_catalog.pg_prepared_statement() where from_sql)" : ""
  } then pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()) end`;

const [checkNames, checkCursors] = [true, false].map((names): Statement => ({
  text: checkText(names),
  params: [],
  use: "none",
  isShared: true,
  isUnnamed: true,
})) as [Statement, Statement];

function shared(text: string): Statement {
  return { text, params: [], use: "none", isShared: true };
}

const [resetAll, discardTemp] = [shared("reset all"), shared("discard temp")];
const defaults = shared(
  `select pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
pg_catalog.set_config('default_transaction_read_only', 'off', false), pg_catalog.set_config('jit', 'off', false)`,
);

/** Returns the statements. Only a transaction that may write can create temporary tables. */
export function cleanupStatements(state: KeptState, access: AccessMode): readonly Statement[] {
  return [
    state.names ? checkNames : checkCursors,
    resetAll,
    ...(access === "read write" ? [discardTemp] : []),
    ...(state.defaults ? [defaults] : []),
  ];
}

/** An empty transaction, which begins with the cleanup of the implicit transaction before it. */
export const emptyTransaction: PendingTransaction = {
  transaction: {
    access: "read only",
    block: null,
    statements: [],
    body: "hold",
    retry: "never",
    planContext: null,
    kind: null,
  },
  resolve: () => {},
  reject: () => {},
};

/** The errors that become responses. They carry strings, never a schema cache, a `Response`, a
 * token or a connection string. Any other thrown value is a bug. @module */
import type { ErrorVariant } from "../dialect.ts";
import type { HeaderList } from "../lib/header_list.ts";

/** Texts of an error body. `details` is text, or a list of records (ambiguous embed). */
export interface ErrorTexts {
  readonly message: string;
  readonly details?: string | readonly Readonly<Record<string, string>>[] | null;
  readonly hint?: string | null;
}

/** Limits that refuse requests under overload. */
export type ShedReason = "requests" | "spool";

export interface FailedOperation {
  /** Position in the batch, from 0. */
  readonly index: number;
  readonly id: string;
  readonly method: string;
  readonly url: string;
}

/** The subject of an error, from which hints are made. Hints never depend on messages, because dialects
 * and `lc_messages` change these. PostgreSQL sends most of the names as fields of the error. */
export interface ErrorSubject {
  /** The schema of a relation that does not exist. */
  readonly schema?: string;
  readonly relation?: string;
  readonly column?: string;
  readonly function?: string;
  /** The target of an embed. */
  readonly embed?: string;
  /** The text of a filter that cannot be parsed. */
  readonly filter?: string;
  /** The parts of the name at the position of the error in the SQL, `["film", "title"]`; or the names
   * of arguments. */
  readonly names?: readonly string[];
  /** The C function of PostgreSQL that raised the error: `aclcheck_error`. */
  readonly routine?: string;
  /** True if a function or a trigger ran the SQL that failed. */
  readonly isNested?: true;
}

/**
 * Returns whether RAISE of PL/pgSQL made an error, so that its author chose SQLSTATE and message.
 */
export function isRaised(subject: ErrorSubject | undefined): boolean {
  return subject?.routine === "exec_stmt_raise";
}

/** An error as data: its texts, code, status and headers. */
export interface ErrorFields extends ErrorTexts {
  /** The whole code without the dialect's prefix (`116`), or a complete foreign code. */
  readonly code: string;
  /** Whether `code` is a code of svc, to which the dialect adds its prefix. */
  readonly own: boolean;
  readonly status: number;
  readonly subject?: ErrorSubject;
  /** Message in dialects with errors in words. Their details contain the usual message. */
  readonly inWords?: string;
  /** Position of the problem in a text. Dialects with errors in words send it as details. */
  readonly place?: string;
  /** Hint with `client-error-verbosity = advise` if the error has no hint. Default: by its code. */
  readonly advice?: string;
  /** The advice is for the log alone. Default: false. */
  readonly isAdviceHidden?: true;
  /** Whether the texts describe a database server. The dialect `svc` only logs them. `pgrst` sends
   * them, unless they describe a node of Citus. */
  readonly describesServer?: true | "node";
  /** The failure concerns standbys alone: the service need not reconnect to the primary. Default: false. */
  readonly concernsStandbys?: true;
  /** Key by which a dialect replaces code and status. Default: code and status of the catalogue. */
  readonly variant?: ErrorVariant;
  /** Response headers of the error. Default: none. */
  readonly headers?: HeaderList;
  /** The request ended early because the client disconnected. Default: false. */
  readonly clientLeft?: true;
  /** The service does not read the rest of the request, so the connection ends. Default: false. */
  readonly closesConnection?: true;
  /** The limit that refused the request, if it protects the process from overload. Default: none. */
  readonly shedReason?: ShedReason;
  /** Reason phrase, for servers that can send one. Default: the standard one. */
  readonly statusText?: string;
  /** The operation that fails a batch; null if the whole batch fails. Default: no batch. */
  readonly operation?: FailedOperation | null;
}

export class ServiceError extends Error {
  readonly fields: ErrorFields;

  constructor(fields: ErrorFields) {
    super(fields.message);
    this.name = "ServiceError";
    this.fields = fields;
  }
}

/** The fields of a PostgreSQL error that clients may see. */
export interface DatabaseFailure {
  /** SQLSTATE, five characters. */
  readonly sqlstate: string;
  readonly message: string;
  readonly detail: string | null;
  readonly hint: string | null;
  readonly subject?: ErrorSubject;
  /** The severity is FATAL or PANIC: the server ends the connection with this error. */
  readonly fatal?: true;
}

/** Wraps a {@linkcode DatabaseFailure}. `errors/sqlstate.ts` decides its status. */
export class DatabaseError extends Error {
  readonly failure: DatabaseFailure;
  /** Index of the failed statement, from 0. BEGIN has -1, COMMIT the number of statements. */
  readonly statement: number;

  constructor(failure: DatabaseFailure, statement = 0) {
    super(failure.message);
    this.name = "DatabaseError";
    this.failure = failure;
    this.statement = statement;
  }
}

/** SQLSTATE of a statement that was canceled. */
const queryCanceled = "57014";

/** Returns whether an error was made by a row of the catalogue. */
export function isError(thrown: unknown, { code }: { readonly code: string }): boolean {
  return thrown instanceof ServiceError && thrown.fields.code === code;
}

/** Whether PostgreSQL canceled a statement. */
export function isCanceled(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === queryCanceled;
}

/**
 * The one class of errors that become responses. It carries strings, never a schema cache, a
 * `Response`, a token or a connection string; whatever else is thrown is a bug.
 *
 * @module
 */
import type { ErrorVariant } from "../dialect.ts";
import type { HeaderList } from "../lib/header_list.ts";

/** What the body of an error says. `details` is text, or a list of records (ambiguous embedding). */
export interface ErrorTexts {
  readonly message: string;
  readonly details?: string | readonly Readonly<Record<string, string>>[] | null;
  readonly hint?: string | null;
}

/** Facts of an error beside its texts. */
export interface ErrorFacts extends ErrorTexts {
  /** The whole code without the dialect's prefix (`116`), or a complete foreign code. */
  readonly code: string;
  /** Whether `code` is the service's own, so that the dialect's prefix goes before it. */
  readonly own: boolean;
  /** HTTP status. */
  readonly status: number;
  /**
   * The details describe a database server, its address for example. A dialect may keep them from
   * clients; the log has them in both.
   */
  readonly describesServer?: true;
  /** Under which name a dialect may have another code and status for it. */
  readonly variant?: ErrorVariant;
  /** Headers that the error asks for, names as they are to be sent. */
  readonly headers?: HeaderList;
  /** Reason phrase, where the platform can send one. */
  readonly statusText?: string;
}

/** An error that is answered to the client as it stands. */
export class ServiceError extends Error {
  readonly facts: ErrorFacts;

  constructor(facts: ErrorFacts) {
    super(facts.message);
    this.name = "ServiceError";
    this.facts = facts;
  }
}

/** An error that PostgreSQL reported, with the fields that clients may see. */
export interface DatabaseFailure {
  /** SQLSTATE, five characters. */
  readonly sqlstate: string;
  readonly message: string;
  readonly detail: string | null;
  readonly hint: string | null;
  /** The severity is FATAL or PANIC: the server ends the connection with this error. */
  readonly fatal?: true;
}

/** Wraps a {@linkcode DatabaseFailure}; `errors/sqlstate.ts` says what it is answered with. */
export class DatabaseError extends Error {
  readonly failure: DatabaseFailure;
  /**
   * Which statement of the transaction failed, counted from 0; -1 is its beginning, and the number
   * of statements its end.
   */
  readonly statement: number;

  constructor(failure: DatabaseFailure, statement = 0) {
    super(failure.message);
    this.name = "DatabaseError";
    this.failure = failure;
    this.statement = statement;
  }
}

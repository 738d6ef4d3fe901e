/** Decides which failures end the service. All other failures affect single requests or loads.
 * @module */
import {
  type FatalFailure,
  fatalFailureOf,
  isConnectionLost,
  isLoginRefused,
} from "../../database/failure.ts";
import type { Config } from "../config/options.ts";
import type { Dialect } from "../../base/dialect.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import type { Observation } from "../../base/observe/observation.ts";

interface FailurePolicyOptions {
  readonly dialect: Dialect;
  readonly observe: (event: Observation) => void;
  /** Returns the current configuration. */
  readonly config: () => Pick<
    Config,
    "dbPasswordFile" | "dbPoolAutomaticRecovery" | "dbPreparedStatements"
  >;
  /** Ends the process; null if the service is part of another program, which it never ends. */
  readonly onFatal: (() => void) | null;
}

/** Classifies failures. Reports the first fatal failure and ends the process. */
export class FailurePolicy {
  readonly #options: FailurePolicyOptions;
  #isEnding = false;

  constructor(options: FailurePolicyOptions) {
    this.#options = options;
  }

  /** True after a fatal failure: the process is about to end. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether the service reconnects after it has lost a connection. */
  get #recovers(): boolean {
    return this.#options.config().dbPoolAutomaticRecovery;
  }

  /** Whether the service ends if a pooler in transaction mode loses prepared statements. */
  get #endsAtPooler(): boolean {
    return this.#options.config().dbPreparedStatements !== "auto";
  }

  /** Whether the service retries after a failed attempt. */
  get willRetry(): boolean {
    return !this.#isEnding && this.#recovers;
  }

  /** Returns whether a failure of the database ends the service. */
  isFatal(thrown: unknown): boolean {
    if (this.#options.onFatal === null) return false;
    if (this.#fatalFailureOf(thrown) !== null) return true;
    return isConnectionLost(thrown) && !this.willRetry;
  }

  /** Ends the process if the failure is fatal. Returns whether it is. */
  exitOnFatal(thrown: unknown): boolean {
    if (!this.isFatal(thrown)) return false;
    const fatal = this.#fatalFailureOf(thrown);
    const error = errorMembers(thrown, this.#options.dialect);
    switch (fatal?.kind) {
      case "login":
        return this.exit({ kind: "connect-failed", error });
      case "pooler":
        return this.exit({ kind: "pooler-found", mode: fatal.mode, error });
      default:
        return this.exit({ kind: "recovery-disabled" });
    }
  }

  /** Ends the process if the server has refused the login. Ignores other failures. */
  exitOnLoginRefused(thrown: unknown): boolean {
    return this.#fatalFailureOf(thrown)?.kind === "login" && this.exitOnFatal(thrown);
  }

  #fatalFailureOf(thrown: unknown): FatalFailure | null {
    const { dbPasswordFile } = this.#options.config();
    const fatal = fatalFailureOf(thrown);
    switch (fatal?.kind) {
      case "login":
        // A login with a password file is tried again, since the password may change.
        return dbPasswordFile === null ? fatal : null;
      case "pooler":
        return fatal.mode === "transaction" && !this.#endsAtPooler ? null : fatal;
      default:
        return null;
    }
  }

  /** Ends the process if the listener cannot connect for a fatal reason. */
  exitOnListenerFailure(reason: string): boolean {
    const isEnding = isLoginRefused(reason) && this.exitOnFatal(errors.cannotConnect(reason));
    if (isEnding || this.#recovers) return this.#isEnding;
    return this.exit({ kind: "recovery-disabled" });
  }

  /** Ends the process if PostgreSQL cannot parse a statement of svc. */
  exitOnSyntaxError(thrown: unknown): boolean {
    if (!(thrown instanceof DatabaseError) || thrown.failure.sqlstate !== syntaxError) return false;
    const { dialect } = this.#options;
    const error = errorMembers(thrown, dialect);
    return this.exit({ kind: "statement-refused", error, name: dialect.displayName });
  }

  /** Ends the process because a pooler in transaction mode loses prepared statements. If the
   * service can use unnamed statements instead, it only reports the pooler. */
  exitOnPooler(): void {
    if (!this.#endsAtPooler) return this.#options.observe({ kind: "statements-unnamed" });
    const error = {
      code: "26000",
      message: "prepared statements are not found on the connection that prepared them",
      details: null,
      hint: null,
    };
    this.exit({ kind: "pooler-found", mode: "transaction", error });
  }

  /** Ends the process because a schema of `db-schemas` does not exist, unless the dialect retries. */
  async exitOnMissingSchema(readFilled: () => Promise<readonly string[]>): Promise<void> {
    const { onFatal, dialect } = this.#options;
    if (onFatal === null || dialect.invalidConfig === "ignored") return;
    this.exit({ kind: "schema-missing", filled: await readFilled() });
  }

  /** Reports a fatal failure, once, and ends the process. Returns false if `onFatal` is null. */
  exit(event: Observation): boolean {
    const { observe, onFatal } = this.#options;
    if (this.#isEnding) return true;
    observe(event);
    if (onFatal === null) return false;
    this.#isEnding = true;
    onFatal();
    return true;
  }
}

const syntaxError = "42601";

/**
 * What failures mean for the service as a whole: most are lived with, some end it.
 *
 * @module
 */
import { fatalFailure, isLoginRefused, isLoss } from "../database/failure.ts";
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { errorFacts } from "../errors/error_response.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { Observation } from "../observe/observation.ts";

/** What {@linkcode Failures} work with. */
export interface FailuresOptions {
  readonly dialect: Dialect;
  readonly observe: (event: Observation) => void;
  /** Whether a connection that was lost is to be got back. */
  readonly recovers: () => boolean;
  /** Ends the process; null where the service has none of its own, and always goes on. */
  readonly onFatal: (() => void) | null;
}

/** Judges failures. Reports those that end the service, and ends it, once. */
export class Failures {
  readonly #options: FailuresOptions;
  #isEnding = false;

  constructor(options: FailuresOptions) {
    this.#options = options;
  }

  /** Whether the process is about to end. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether there will be another attempt after a failure. */
  get mayGoOn(): boolean {
    return !this.#isEnding && this.#options.recovers();
  }

  /** Judges what a use of the database threw: whether the service is at its end. */
  isEnd(thrown: unknown): boolean {
    const { dialect, onFatal } = this.#options;
    if (onFatal === null) return false;
    const fatal = fatalFailure(thrown);
    const error = errorFacts(thrown, dialect);
    switch (fatal?.kind) {
      case "login":
        return this.#end({ kind: "connect-failed", error });
      case "pooler":
        return this.#end({ kind: "pooler-found", mode: fatal.mode, error });
      default:
        return isLoss(thrown) && this.isEndByLoss();
    }
  }

  /** Whether the login was refused, and that is the end; nothing else is judged. */
  isRefusal(thrown: unknown): boolean {
    return fatalFailure(thrown)?.kind === "login" && this.isEnd(thrown);
  }

  /** The listener's connection failed, for this reason: whether the service is at its end. */
  isListenerEnd(reason: string): boolean {
    return (isLoginRefused(reason) && this.isEnd(errors.cannotConnect(reason))) ||
      this.isEndByLoss();
  }

  /** The connection was lost: whether that is the end, because it is not to be got back. */
  isEndByLoss(): boolean {
    if (this.#options.recovers()) return this.#isEnding;
    return this.#end({ kind: "recovery-disabled" });
  }

  /** A statement of the service's own was refused: whether it is one that can never run. */
  isOwnMistake(thrown: unknown): boolean {
    if (!(thrown instanceof DatabaseError) || thrown.failure.sqlstate !== syntaxError) return false;
    const { dialect } = this.#options;
    const error = errorFacts(thrown, dialect);
    return this.#end({ kind: "statement-refused", error, name: dialect.displayName });
  }

  /** There is a pooler between the service and the server that takes prepared statements away. */
  poolerFound(): void {
    const error = {
      code: "26000",
      message: "prepared statements are not found on the connection that prepared them",
      details: null,
      hint: null,
    };
    this.#end({ kind: "pooler-found", mode: "transaction", error });
  }

  /** The server is too old. */
  versionUnsupported(version: string): void {
    this.#end({ kind: "version-unsupported", version, name: this.#options.dialect.displayName });
  }

  /** Reports an end and brings it about; false where there is none. */
  #end(event: Observation): boolean {
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

/** Functions of one thread that another thread calls by messages. Secrets are only passed in
 * messages, never in a URL or in the environment. @module */
import { deferred } from "../../../base/lib/deferred.ts";
import type { CallWords } from "../../../base/observe/call_words.ts";
import type { PoolCounts } from "../../../database/database.ts";
import type { FollowedState } from "../../../state/app_state/follower_state.ts";
import type { PartOfProcess } from "./shares.ts";
import type { StateChange } from "../../../state/app_state/state_change.ts";

/** A worker's share of the limits of the process, and everything that it needs to serve. */
export interface WorkerTask {
  readonly part: PartOfProcess;
  /** Name of the dialect. */
  readonly dialect: string;
  readonly state: StateChange;
  /** Path of the configuration file, or null. */
  readonly file: string | null;
  /** Port of the API. */
  readonly port: number;
  readonly call: CallWords;
  /** Whether requests from pages of other sites are refused. */
  readonly isQuick: boolean;
}

/** Lines of the two logs. Each text lacks its last line feed, and may be empty. */
export interface LogLines {
  readonly access: string;
  readonly diagnostics: string;
}

/** Console data of one thread since the last call. */
export interface RecordedSecond {
  /** The result of {@linkcode AdminConsole.take}. */
  readonly requests: unknown;
  readonly pool: PoolCounts;
}

/** Functions of a worker that the leader calls. */
export interface WorkerFunctions {
  /** Resolves with the address when the worker listens. */
  serve(task: WorkerTask): Promise<string>;
  apply(change: StateChange): Promise<void>;
  /** Sets the seconds until the leader connects to the database again. */
  setRetry(seconds: number): void;
  /** Returns the worker's metrics as text. */
  metrics(): string;
  /** Returns the console's data since the last call; null without a console. */
  recorded(): RecordedSecond | null;
  /** Makes each further response close its connection. */
  closeConnections(): Promise<void>;
  /** Holds responses. Resolves when no more requests arrive, with the number of requests so far. */
  hold(): Promise<number>;
  /** Closes the socket. Responses are still held. */
  closeSocket(): Promise<void>;
  /** Resolves when all requests have a response. */
  stop(): Promise<void>;
}

/** Functions that a worker calls in the leader, the thread that started it. */
export interface LeaderFunctions extends FollowedState {
  addLines(lines: LogLines): void;
  /** Ends the process because the worker cannot listen. */
  refuse(reason: string): void;
  /** Ends the process after the reason was logged. */
  endProcess(): void;
}

/** A call, or its result. A call that needs no result has the number 0. */
export type CallMessage =
  | {
    readonly kind: "call";
    readonly number: number;
    readonly name: string;
    readonly args: readonly unknown[];
  }
  | { readonly kind: "result"; readonly number: number; readonly value: unknown };

type Functions<Names> = { readonly [Name in keyof Names]: (...args: never[]) => unknown };

/** Calls functions of another thread, and runs the functions that it calls. */
export class ThreadCalls<Own extends Functions<Own>, Theirs extends Functions<Theirs>> {
  readonly #post: (message: CallMessage) => void;
  readonly #own: Own;
  readonly #waiting = new Map<number, (value: never) => void>();
  #last = 0;

  constructor(post: (message: CallMessage) => void, own: Own) {
    this.#post = post;
    this.#own = own;
  }

  /** Calls a function without awaiting its result. */
  send<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): void {
    this.#post({ kind: "call", number: 0, name, args });
  }

  /** Resolves with the result of a function. Never settles if the function fails, because that ends
   * the process. */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    ...args: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    const { promise, resolve } = deferred<Awaited<ReturnType<Theirs[Name]>>>();
    const number = ++this.#last;
    this.#waiting.set(number, resolve);
    this.#post({ kind: "call", number, name, args });
    return promise;
  }

  /** Handles a message. Rejects if the called function does. */
  async receive(message: CallMessage): Promise<void> {
    const { number } = message;
    if (message.kind === "result") {
      this.#waiting.get(number)?.(message.value as never);
      this.#waiting.delete(number);
      return;
    }
    const value = await this.#own[message.name as keyof Own](...message.args as never[]);
    if (number > 0) this.#post({ kind: "result", number, value });
  }
}

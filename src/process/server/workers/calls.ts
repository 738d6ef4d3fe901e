/** Functions of one thread that another one calls by messages. Secrets of the configuration pass in
 * messages only, never in a URL or in the environment. @module */
import { deferred } from "../../../base/lib/deferred.ts";
import type { CallWords } from "../../../base/observe/call_words.ts";
import type { Metrics } from "../../../base/observe/metrics.ts";
import type { FollowedState } from "../../../state/app_state/follower_state.ts";
import type { PartOfProcess } from "./shares.ts";
import type { StateChange } from "../../../state/app_state/state_change.ts";

/** A worker's part of the process's limits, and all that it needs to serve. */
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
  /** Refuses requests of pages of other sites. */
  readonly isQuick: boolean;
}

/** Lines of the two logs, each text without its last line feed, possibly empty. */
export interface LogLines {
  readonly access: string;
  readonly diagnostics: string;
}

/** The console's data of one thread since the last call. */
export interface RecordedSecond {
  /** The result of {@linkcode AdminConsole.take}. */
  readonly requests: unknown;
  readonly pool: Metrics["pool"];
}

/** Functions of a worker that the owner of the process calls. */
export interface WorkerFunctions {
  /** Resolves with the address when the worker listens. */
  serve(task: WorkerTask): Promise<string>;
  apply(change: StateChange): Promise<void>;
  /** The owner connects to the database again after these seconds. */
  setRetry(seconds: number): void;
  /** The worker's metrics as text. */
  metrics(): string;
  /** Null without a console. */
  recorded(): RecordedSecond | null;
  /** Each response from now on closes its connection. */
  closeConnections(): Promise<void>;
  /** Holds responses. Resolves when no more requests arrive, with the number of those since the start. */
  hold(): Promise<number>;
  /** Closes the socket; responses are still held. */
  closeSocket(): Promise<void>;
  /** Resolves when all requests have a response. */
  stop(): Promise<void>;
}

/** Functions of the owner of the process that a worker calls. */
export interface OwnerFunctions extends FollowedState {
  addLines(lines: LogLines): void;
  /** Ends the process, since the worker cannot listen. */
  refuse(reason: string): void;
  /** Ends the process, after the log has the reason. */
  endProcess(): void;
}

/** A call, or its result. The number of a call without a result is 0. */
export type CallMessage =
  | {
    readonly kind: "call";
    readonly number: number;
    readonly name: string;
    readonly args: readonly unknown[];
  }
  | { readonly kind: "result"; readonly number: number; readonly value: unknown };

type Functions<Names> = { readonly [Name in keyof Names]: (...args: never[]) => unknown };

/** Calls the functions of another thread, and runs those that it calls. */
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

  /** Resolves with the result of a function; never if that fails, which ends the process. */
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

  /** Takes a message. Rejects if the function that it calls does. */
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

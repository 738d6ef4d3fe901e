/** One worker of the owner: starts it, and starts it again after a failure. @module */
import { deferred } from "../../lib/deferred.ts";
import type { Schedule } from "../../lib/timers.ts";
import type { OwnerMessage, WorkerMessage, WorkerReplies } from "./messages.ts";
import { Queries } from "./queries.ts";

/** A thread, as its owner reaches it. */
export interface WorkerThread {
  post(message: OwnerMessage): void;
  /** Ends the thread at once. */
  terminate(): void;
}

/** Receives what a thread reports. */
export interface ThreadEvents {
  readonly onMessage: (message: WorkerMessage) => void;
  /** The thread has ended by an error that it did not report itself. */
  readonly onError: (reason: string) => void;
}

/** Starts a thread. */
export type StartThread = (events: ThreadEvents) => WorkerThread;

/** Dependencies of a {@linkcode WorkerSlot}. */
export interface WorkerSlotOptions {
  readonly startThread: StartThread;
  /** Receives all messages but those of the life of the worker, and those that are replies. */
  readonly onMessage: (message: WorkerMessage) => void;
  /** Called when the worker's modules are loaded. */
  readonly onLoaded: () => void;
  /** Called after a failure. */
  readonly onFailed: (failure: WorkerFailure) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** A failure of a worker. */
export interface WorkerFailure {
  /** Null if the worker has logged it. */
  readonly reason: string | null;
  readonly metrics: string;
  /** Seconds until the next start; null if the process stops. */
  readonly seconds: number | null;
}

/** Milliseconds before the first start after a failure, and at most. Each further one waits twice as long. */
const [minDelayMs, maxDelayMs] = [100, 5000];

/** A place for one worker after the other. */
export class WorkerSlot {
  readonly #options: WorkerSlotOptions;
  readonly #firstStart = deferred<string>();
  readonly #stopped = deferred<void>();
  #thread: WorkerThread | null = null;
  #queries: Queries<keyof WorkerReplies> | null = null;
  #state: "starting" | "listening" | "failed" | "stopping" | "stopped" = "starting";
  #startedAt = 0;
  #delayMs = minDelayMs;
  #cancelStart = () => {};

  constructor(options: WorkerSlotOptions) {
    this.#options = options;
    this.#start();
  }

  /** Resolves with the address once the first worker listens. Rejects if that one fails. */
  get firstStart(): Promise<string> {
    return this.#firstStart.promise;
  }

  get isListening(): boolean {
    return this.#state === "listening";
  }

  /** Whether a worker runs or will run. */
  get isStopped(): boolean {
    return this.#state === "stopped";
  }

  /** Sends a message to the worker, if there is one. */
  post(message: OwnerMessage): void {
    this.#thread?.post(message);
  }

  /** Sends a query. Resolves with undefined if no worker runs, or if it ends meanwhile. */
  async query(name: keyof WorkerReplies): Promise<unknown> {
    return await this.#queries?.send(name);
  }

  /** Stops the worker. Resolves when it has responded to all requests. */
  async stop(): Promise<void> {
    this.#cancelStart();
    if (this.#thread === null) this.#end();
    else if (this.#state !== "stopped") {
      this.#state = "stopping";
      this.#thread.post({ kind: "stop" });
    }
    await this.#stopped.promise;
  }

  #start(): void {
    this.#state = "starting";
    this.#startedAt = this.#options.now();
    const thread = this.#options.startThread({
      onMessage: (message) => {
        if (this.#thread === thread) this.#receive(message);
      },
      onError: (reason) => {
        if (this.#thread === thread) this.#fail({ reason, metrics: "" });
      },
    });
    this.#thread = thread;
    this.#queries = new Queries((query) => thread.post(query));
  }

  #receive(message: WorkerMessage): void {
    switch (message.kind) {
      case "loaded":
        return this.#options.onLoaded();
      case "listening":
        if (this.#state === "starting") this.#state = "listening";
        return this.#firstStart.resolve(message.address);
      case "reply":
        return this.#queries?.settle(message);
      case "failed":
        return this.#fail(message);
      case "stopped":
        return this.#end();
      default:
        return this.#options.onMessage(message);
    }
  }

  #fail({ reason, metrics }: Pick<WorkerFailure, "reason" | "metrics">): void {
    const isStopping = this.#state === "stopping";
    const { now, schedule, onFailed } = this.#options;
    if (now() - this.#startedAt > maxDelayMs) this.#delayMs = minDelayMs;
    this.#drop();
    onFailed({ reason, metrics, seconds: isStopping ? null : this.#delayMs / 1000 });
    this.#firstStart.reject(new Error(reason ?? "a worker has failed"));
    if (isStopping) return this.#end();
    this.#state = "failed";
    this.#cancelStart = schedule(() => this.#start(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
  }

  #end(): void {
    this.#drop();
    this.#state = "stopped";
    this.#stopped.resolve();
  }

  #drop(): void {
    this.#thread?.terminate();
    this.#thread = null;
    this.#queries?.end();
    this.#queries = null;
  }
}

/** The workers of a process, for the thread that owns it. @module */
import { metricsText } from "../../admin/admin.ts";
import type { Recorder } from "../../admin/recorder.ts";
import { withTimeout } from "../../lib/time_limits.ts";
import type { Schedule } from "../../lib/timers.ts";
import { sumOfMetrics, withoutGauges } from "../../observe/metric_registry.ts";
import { StatePublisher } from "../../service/followed_state.ts";
import type { Service } from "../../service/service.ts";
import type { Listening } from "../listen.ts";
import type {
  LogLines,
  OwnerReplies,
  RecordedSecond,
  ThreadQuery,
  WorkerMessage,
  WorkerTask,
} from "./messages.ts";
import { type StartThread, type WorkerFailure, WorkerSlot } from "./worker_slot.ts";

/** The service that workers follow. */
export type OwnerService = Pick<
  Service,
  | "dialect"
  | "followed"
  | "isReady"
  | "metricRegistry"
  | "metrics"
  | "missName"
  | "observe"
  | "recover"
  | "requestMetrics"
  | "retryAfter"
  | "revocations"
>;

/** Dependencies of {@linkcode ServerWorkers}. */
export interface ServerWorkersOptions {
  readonly workers: number;
  readonly service: OwnerService;
  /** Facts of the tasks of all workers. */
  readonly task: Pick<WorkerTask, "call" | "file" | "isQuick" | "port">;
  readonly startThread: StartThread;
  readonly addLines: (lines: LogLines) => void;
  /** Ends the process. */
  readonly onFatal: () => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Milliseconds until a worker that does not reply counts by its last metrics. */
const metricsTimeoutMs = 1000;

/** Milliseconds until a step of the shutdown does without the workers that have not replied. */
const stepTimeoutMs = 1000;

/** Most rounds in which workers wait for requests. */
const maxHoldRounds = 6;

/** Starts workers, sends them the state of the owner's service, and adds up what they count. */
export class ServerWorkers implements Pick<Listening, "closeConnections" | "isOpen" | "shutdown"> {
  readonly #options: ServerWorkersOptions;
  readonly #publisher: StatePublisher;
  readonly #slots: readonly WorkerSlot[];
  readonly #replies: OwnerReplies;
  /** The last known metrics of each worker, and those that ended workers have left. */
  readonly #metrics = new Map<WorkerSlot, string>();
  #leftMetrics = "";
  /** The last known gauges of the workers. */
  #recorded: readonly RecordedSecond[] = [];
  #isPublishing = false;
  #isStopping = false;
  #cancelRecording = () => {};

  constructor(options: ServerWorkersOptions) {
    this.#options = options;
    const { service } = options;
    this.#publisher = new StatePublisher(() => service.followed);
    this.#replies = {
      isReady: () => service.isReady(),
      readRevocations: () => this.#readRevocations(),
    };
    this.#slots = Array.from({ length: options.workers }, (_, index) => this.#makeSlot(index + 1));
  }

  /** Resolves with the address when all workers listen. Rejects if one of them fails before. */
  async listening(): Promise<string> {
    const [address] = await Promise.all(this.#slots.map(({ firstStart }) => firstStart));
    return address!;
  }

  /** Sends what has changed, soon: the parts of one load change at once. */
  publish(): void {
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    queueMicrotask(() => this.#publishNow());
  }

  /** Sends the seconds until the next attempt to connect. */
  publishRetry(): void {
    const seconds = this.#options.service.retryAfter();
    for (const slot of this.#slots) slot.post({ kind: "retrying", seconds });
  }

  isOpen(): boolean {
    return this.#slots.some(({ isListening }) => isListening);
  }

  /** Whether a worker has not stopped. */
  get isRunning(): boolean {
    return this.#slots.some(({ isStopped }) => !isStopped);
  }

  closeConnections(): void {
    for (const slot of this.#slots) slot.post({ kind: "close-connections" });
  }

  /**
   * Lets all workers hold their responses, then close their sockets, then send what they held. So no
   * client that has its response can connect to a worker that is about to close.
   */
  async shutdown(): Promise<void> {
    this.#isStopping = true;
    this.#cancelRecording();
    await this.#holdAll();
    await this.#queryAll("closeSocket");
    await Promise.all(this.#slots.map((slot) => slot.stop()));
  }

  /** Returns the metrics of the service in all threads. */
  async metrics(): Promise<string> {
    await withTimeout(
      metricsTimeoutMs,
      Promise.all(this.#slots.map(async (slot) => {
        const text = await slot.query("metrics");
        if (typeof text === "string") this.#metrics.set(slot, text);
      })),
    );
    return sumOfMetrics([
      metricsText(this.#options.service),
      ...this.#metrics.values(),
      this.#leftMetrics,
    ]);
  }

  /** Adds the requests of the workers to a recorder, once per second while it is watched. */
  record(recorder: Pick<Recorder, "add" | "isWatched">): void {
    const tick = async () => {
      if (!recorder.isWatched) return;
      const replies = await Promise.all(this.#slots.map((slot) => slot.query("recorded")));
      const isRecorded = (reply: unknown) => reply !== undefined && reply !== null;
      this.#recorded = replies.filter(isRecorded) as RecordedSecond[];
      recorder.add(this.#recorded.map(({ requests }) => requests));
    };
    const schedule = () => {
      if (this.#isStopping) return;
      this.#cancelRecording = this.#options.schedule(() => void tick().then(schedule), 1000);
    };
    schedule();
  }

  /** Returns the pools and caches of all workers in one, as of the last second that was recorded. */
  recordedMetrics(): RecordedSecond["metrics"] {
    return this.#recorded.map(({ metrics }) => metrics).reduce(sumOfGauges, noGauges);
  }

  /** Repeats until no worker receives a request: one alone may have few clients, all of them slow. */
  async #holdAll(): Promise<void> {
    let requests = 0;
    for (let round = 0; round < maxHoldRounds; round++) {
      const before = requests;
      const counts = await this.#queryAll("hold");
      requests = counts.reduce<number>((sum, count) => sum + Number(count ?? 0), 0);
      if (requests === before) return;
    }
  }

  /** Returns the replies; none if one is missing. */
  async #queryAll(name: "hold" | "closeSocket"): Promise<readonly unknown[]> {
    let replies: readonly unknown[] = [];
    const all = Promise.all(this.#slots.map((slot) => slot.query(name)));
    await withTimeout(stepTimeoutMs, all.then((values) => void (replies = values)));
    return replies;
  }

  #makeSlot(number: number): WorkerSlot {
    const { startThread, now, schedule } = this.#options;
    const slot: WorkerSlot = new WorkerSlot({
      startThread,
      onLoaded: () => this.#sendTask(slot, number),
      onMessage: (message) => this.#receive(slot, message),
      onFailed: (failure) => this.#recordFailure(slot, number, failure),
      now,
      schedule,
    });
    return slot;
  }

  #sendTask(slot: WorkerSlot, number: number): void {
    this.#publishNow();
    const { task, workers, service } = this.#options;
    slot.post({
      kind: "serve",
      task: {
        ...task,
        part: { number, workers },
        dialect: service.dialect.name,
        state: this.#publisher.all(),
      },
    });
  }

  #receive(slot: WorkerSlot, message: WorkerMessage): void {
    const { service, addLines, onFatal } = this.#options;
    switch (message.kind) {
      case "log":
        return addLines(message.lines);
      case "connection-lost":
        return service.recover();
      case "name-missed":
        return service.missName();
      case "fatal":
        return onFatal();
      case "query":
        return void this.#reply(slot, message);
    }
  }

  async #reply(
    slot: WorkerSlot,
    { id, name }: ThreadQuery<keyof OwnerReplies>,
  ): Promise<void> {
    const value = await this.#replies[name]();
    // The worker receives what the query has loaded before the reply.
    this.#publishNow();
    slot.post({ kind: "reply", id, value });
  }

  async #readRevocations(): ReturnType<OwnerReplies["readRevocations"]> {
    const { revocations } = this.#options.service;
    try {
      await revocations.current();
      return null;
    } catch {
      return { retryAfter: revocations.retryAfter() };
    }
  }

  #recordFailure(slot: WorkerSlot, number: number, failure: WorkerFailure): void {
    const { service } = this.#options;
    const last = failure.metrics === "" ? this.#metrics.get(slot) ?? "" : failure.metrics;
    this.#leftMetrics = sumOfMetrics([this.#leftMetrics, withoutGauges(last)]);
    this.#metrics.delete(slot);
    const { reason, seconds } = failure;
    service.observe({ kind: "worker-failed", worker: number, reason, seconds });
  }

  #publishNow(): void {
    this.#isPublishing = false;
    const change = this.#publisher.changes();
    if (change === null) return;
    for (const slot of this.#slots) slot.post({ kind: "change", change });
  }
}

type ThreadMetrics = RecordedSecond["metrics"];

const noGauges: ThreadMetrics = {
  pool: { max: 0, open: 0, inUse: 0, waiting: 0, timeouts: 0 },
  jwtCache: { lookups: 0, hits: 0, evictions: 0 },
};

function sumOfGauges(one: ThreadMetrics, other: ThreadMetrics): ThreadMetrics {
  return {
    pool: sumOfCounts(one.pool, other.pool),
    jwtCache: sumOfCounts(one.jwtCache, other.jwtCache),
  };
}

/** Adds two records of numbers with the same names. */
function sumOfCounts<Counts extends Readonly<Record<keyof Counts, number>>>(
  one: Counts,
  other: Counts,
): Counts {
  const names = Object.keys(one) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Counts;
}

/** Serves the API by workers. @module */
import { metricsText } from "../admin.ts";
import type { AdminConsole } from "../../../api/wing.ts";
import type { Log } from "../log.ts";
import type { Config } from "../../../state/config/options.ts";
import type { PoolCounts } from "../../../database/database.ts";
import { deferred } from "../../../base/lib/deferred.ts";
import { withTimeout } from "../../../base/lib/time_limits.ts";
import { schedule as defaultSchedule } from "../../../base/lib/timers.ts";
import { sumOfMetrics } from "../../../base/observe/metric_registry.ts";
import type { Observation } from "../../../base/observe/observation.ts";
import type { AppState } from "../../../state/app_state/app_state.ts";
import type { AppStateOptions } from "../../../state/app_state/app_state_options.ts";
import { findPort, type TcpAddress } from "../bind.ts";
import type { Listening } from "../listen.ts";
import { apiListenAddress } from "../../listen_address.ts";
import {
  type CallMessage,
  type LeaderFunctions,
  type RecordedSecond,
  ThreadCalls,
  type WorkerFunctions,
  type WorkerTask,
} from "./calls.ts";
import { type FollowedParts, stateChange } from "../../../state/app_state/state_change.ts";

export interface TeamOptions extends Pick<WorkerTask, "call" | "file" | "isQuick"> {
  /** The configuration at the start. */
  readonly config: Config;
  readonly log: Pick<Log, "addLines">;
  /** Null without a console. */
  readonly adminConsole: RecordedConsole | null;
  /** Ends the process. */
  readonly onFatal: () => void;
}

type RecordedConsole = Pick<AdminConsole, "add" | "isWatched">;

/** Starts a thread. `events` receives its messages and uncaught errors. */
export type StartThread = (events: {
  readonly onMessage: (message: CallMessage) => void;
  readonly onError: (reason: string) => void;
}) => { readonly post: (message: CallMessage) => void; readonly terminate: () => void };

interface Thread {
  readonly calls: ThreadCalls<LeaderFunctions, WorkerFunctions>;
  readonly terminate: () => void;
  /** The last known metrics. */
  metrics: string;
}

/** Milliseconds after which the previous metrics of a silent worker are used. */
const metricsTimeoutMs = 1000;

/** Milliseconds after which a step of the shutdown ignores workers that have not replied. */
const stepTimeoutMs = 1000;

/** Maximum number of rounds in which workers wait for requests. */
const maxHoldRounds = 6;

/** The workers of a process, which `listen` starts. An uncaught error in a worker ends the process. */
export class WorkerTeam implements Pick<Listening, "closeConnections" | "isOpen" | "shutdown"> {
  readonly #count: number;
  readonly #startThread: StartThread;
  readonly #schedule: typeof defaultSchedule;
  #appState: AppState | null = null;
  #threads: readonly Thread[] = [];
  /** The state that was sent to the workers. */
  #sent: FollowedParts | null = null;
  #recorded: readonly RecordedSecond[] = [];
  #isPublishing = false;
  #state: "starting" | "open" | "stopping" | "stopped" = "starting";
  #cancelRecording = () => {};

  constructor(count: number, startThread = startWorker, schedule = defaultSchedule) {
    this.#count = count;
    this.#startThread = startThread;
    this.#schedule = schedule;
  }

  get serviceOptions(): Pick<AppStateOptions, "followers" | "onFollowedChange"> {
    return { followers: this.#count, onFollowedChange: () => this.#publish() };
  }

  /** Receives the events of the service that the workers follow. */
  observe({ kind }: Observation): void {
    if (kind !== "retrying" && kind !== "listener-retrying") return;
    // The message is sent later, because the service sets `retryAfter()` after it reports a retry.
    queueMicrotask(() => {
      for (const { calls } of this.#threads) calls.send("setRetry", this.#appState!.retryAfter());
    });
  }

  /** Returns an event of the followed service with the figures of all workers together. */
  eventOf(event: Observation, { dbPool }: Pick<Config, "dbPool">): Observation {
    return event.kind === "pool-ready" ? { ...event, max: dbPool } : event;
  }

  /** The figures of the workers' pools in the last second. */
  get pool(): PoolCounts {
    return this.#recorded.map(({ pool }) => pool).reduce(sumOfPools, noConnections);
  }

  /** Returns the metrics of the service in all threads. */
  async metrics(appState: AppState): Promise<string> {
    await withTimeout(
      metricsTimeoutMs,
      Promise.all(this.#threads.map(async (thread) => {
        thread.metrics = await thread.calls.ask("metrics");
      })),
    );
    return sumOfMetrics([metricsText(appState), ...this.#threads.map(({ metrics }) => metrics)]);
  }

  /** Resolves when all workers listen. Rejects with an `Error` of one line if they cannot. */
  async listen(appState: AppState, options: TeamOptions): Promise<this> {
    const { config, adminConsole, call, file, isQuick } = options;
    const port = await portOf(apiListenAddress(config) as TcpAddress);
    const refused = deferred<never>();
    const state = this.#sent = appState.followed;
    this.#appState = appState;
    this.#threads = Array.from(
      { length: this.#count },
      () => this.#makeThread(appState, options, refused.reject),
    );
    const addresses = this.#threads.map(({ calls }, index) =>
      calls.ask("serve", {
        part: { number: index + 1, workers: this.#count },
        dialect: appState.dialect.name,
        state: stateChange(null, state),
        ...{ call, file, isQuick, port },
      })
    );
    const [address] = await Promise.race([Promise.all(addresses), refused.promise]);
    this.#state = "open";
    if (adminConsole !== null) this.#record(adminConsole);
    appState.observe({ kind: "listening", what: "api", address: address! });
    return this;
  }

  isOpen(): boolean {
    return this.#state === "open";
  }

  /** Whether a worker still runs. */
  get isRunning(): boolean {
    return this.#state !== "stopped";
  }

  closeConnections(): void {
    for (const { calls } of this.#threads) calls.send("closeConnections");
  }

  /** Makes all workers hold their responses, then close their sockets, then send the responses. So
   * a client with its response never connects to a worker that is about to close. */
  async shutdown(): Promise<void> {
    this.#state = "stopping";
    this.#cancelRecording();
    await this.#holdAll();
    await this.#askAll("closeSocket");
    await Promise.all(this.#threads.map(async ({ calls, terminate }) => {
      await calls.ask("stop");
      terminate();
    }));
    this.#state = "stopped";
  }

  /** Repeats `hold` until no worker receives a request, because one worker may have slow clients only. */
  async #holdAll(): Promise<void> {
    let requests = 0;
    for (let round = 0; round < maxHoldRounds; round++) {
      const before = requests;
      const counts = await this.#askAll("hold");
      requests = counts.reduce<number>((sum, count) => sum + Number(count ?? 0), 0);
      if (requests === before) return;
    }
  }

  /** Calls a function of all workers. Returns the results; empty if one is missing. */
  async #askAll(name: "hold" | "closeSocket"): Promise<readonly unknown[]> {
    let results: readonly unknown[] = [];
    const all = Promise.all(this.#threads.map(({ calls }) => calls.ask(name)));
    await withTimeout(stepTimeoutMs, all.then((values) => void (results = values)));
    return results;
  }

  #makeThread(
    appState: AppState,
    { log, onFatal }: TeamOptions,
    refuse: (reason: Error) => void,
  ): Thread {
    const fail = (error: unknown) => {
      appState.observe({ kind: "unexpected-error", error });
      onFatal();
    };
    const { post, terminate } = this.#startThread({
      onMessage: (message) => void calls.receive(message).catch(fail),
      onError: (reason) => {
        refuse(new Error(reason));
        fail(reason);
      },
    });
    const calls = new ThreadCalls<LeaderFunctions, WorkerFunctions>(post, {
      isReady: () => appState.isReady(),
      recover: () => appState.recover(),
      missName: () => appState.missName(),
      addLines: log.addLines,
      refuse: (reason) => refuse(new Error(reason)),
      endProcess: onFatal,
    });
    return { calls, terminate, metrics: "" };
  }

  /** Sends the changed parts after a short time, because all parts of a load change together. */
  #publish(): void {
    if (this.#isPublishing || this.#sent === null) return;
    this.#isPublishing = true;
    queueMicrotask(() => {
      this.#isPublishing = false;
      const state = this.#appState!.followed;
      const change = stateChange(this.#sent, state);
      this.#sent = state;
      for (const { calls } of this.#threads) calls.send("apply", change);
    });
  }

  /** Adds the requests of workers to a recorder, once per second while it is watched. */
  #record(adminConsole: RecordedConsole): void {
    const tick = async () => {
      if (adminConsole.isWatched) {
        const seconds = await Promise.all(this.#threads.map(({ calls }) => calls.ask("recorded")));
        this.#recorded = seconds.filter((second) => second !== null);
        adminConsole.add(this.#recorded.map(({ requests }) => requests));
      }
      if (this.isOpen()) this.#record(adminConsole);
    };
    this.#cancelRecording = this.#schedule(() => void tick(), 1000);
  }
}

/** Returns the port for all workers. Checks that it is free, unless the configuration permits to share
 * it: another process that also shares the port would get a part of the connections. */
async function portOf(address: TcpAddress): Promise<number> {
  const { port, reusePort } = address;
  return reusePort && port !== 0 ? port : await findPort(address, "api");
}

const startWorker: StartThread = ({ onMessage, onError }) => {
  const worker = new Worker(new URL("./worker_entry.ts", import.meta.url), {
    type: "module",
    name: "worker",
  });
  worker.addEventListener("message", ({ data }) => onMessage(data as CallMessage));
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    onError(event.message);
  });
  worker.addEventListener("messageerror", () => onError("a message cannot be read"));
  return {
    post: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
};

const noConnections: PoolCounts = { max: 0, open: 0, inUse: 0, waiting: 0, timeouts: 0 };

function sumOfPools(one: PoolCounts, other: PoolCounts): PoolCounts {
  return {
    max: one.max + other.max,
    open: one.open + other.open,
    inUse: one.inUse + other.inUse,
    waiting: one.waiting + other.waiting,
    timeouts: one.timeouts + other.timeouts,
  };
}

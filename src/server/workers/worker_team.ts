/** Serves the API by workers: what a process with several of them does otherwise than one without.
 * @module */
import { metricsText } from "../../admin/admin.ts";
import type { RecordedService } from "../../admin/recorder.ts";
import type { Recorder } from "../../admin/recorder.ts";
import type { Log } from "../../cli/log.ts";
import type { Config } from "../../config/options.ts";
import { schedule } from "../../lib/timers.ts";
import type { CallWords } from "../../observe/call_words.ts";
import type { Observation } from "../../observe/observation.ts";
import type { Service } from "../../service/service.ts";
import type { ServiceOptions } from "../../service/service_options.ts";
import { findPort, type TcpAddress } from "../bind.ts";
import { apiListenAddress } from "../listen_address.ts";
import type { WorkerMessage } from "./messages.ts";
import { ownerConfig } from "./shares.ts";
import { ServerWorkers } from "./server_workers.ts";
import type { StartThread } from "./worker_slot.ts";

/** Options of {@linkcode WorkerTeam.listen}. */
export interface TeamOptions {
  /** The configuration at the start. */
  readonly config: Config;
  /** Path of the configuration file; null without one. */
  readonly file: string | null;
  readonly call: CallWords;
  readonly isQuick: boolean;
  readonly log: Pick<Log, "addLines">;
  /** Null without a console. */
  readonly recorder: Recorder | null;
  /** Ends the process. */
  readonly onFatal: () => void;
}

/** The workers of a process, also before they are started. */
export class WorkerTeam {
  readonly #count: number;
  #workers: ServerWorkers | null = null;

  constructor(count: number) {
    this.#count = count;
  }

  /** Returns the configuration of the connections of the service that the workers follow. */
  ownerConfig(config: Config): Config {
    return ownerConfig(config);
  }

  /** Options of the service that the workers follow. */
  get serviceOptions(): Pick<ServiceOptions, "followers" | "onFollowedChange"> {
    return {
      followers: this.#count,
      onFollowedChange: () => this.#workers?.publish(),
    };
  }

  /** Receives the events of the service that the workers follow. */
  observe({ kind }: Observation): void {
    if (kind !== "retrying" && kind !== "listener-retrying") return;
    // The service schedules its attempt after it has reported it.
    queueMicrotask(() => this.#workers?.publishRetry());
  }

  /** Returns an event of the service that the workers follow, as it is true of all of them. */
  eventOf(event: Observation, { dbPool }: Pick<Config, "dbPool">): Observation {
    return event.kind === "pool-ready" ? { ...event, max: dbPool } : event;
  }

  /** Returns the service as the console records it. */
  recorded(service: Service): RecordedService {
    return {
      snapshot: service.snapshot,
      metrics: () => this.#workers?.recordedMetrics() ?? service.metrics(),
    };
  }

  /** Returns the metrics of the service in all threads. */
  async metrics(service: Service): Promise<string> {
    return await this.#workers?.metrics() ?? metricsText(service);
  }

  /** Resolves when all workers listen. Rejects with an `Error` of one line if they cannot. */
  async listen(service: Service, options: TeamOptions): Promise<ServerWorkers> {
    const { config, file, call, isQuick, log, recorder, onFatal } = options;
    const address = apiListenAddress(config) as TcpAddress;
    const workers = this.#workers = new ServerWorkers({
      workers: this.#count,
      service,
      task: { call, file, isQuick, port: await portOf(address) },
      startThread,
      addLines: log.addLines,
      onFatal,
      now: () => performance.now(),
      schedule,
    });
    if (recorder !== null) workers.record(recorder);
    service.observe({ kind: "listening", what: "api", address: await workers.listening() });
    return workers;
  }
}

/**
 * Returns the port for all workers. Workers could share it with another process that also shares it, so it
 * must be free, unless the configuration wishes that.
 */
async function portOf(address: TcpAddress): Promise<number> {
  const { port, reusePort } = address;
  return reusePort && port !== 0 ? port : await findPort(address, "api");
}

/** Starts a thread of Deno. */
const startThread: StartThread = ({ onMessage, onError }) => {
  const worker = new Worker(new URL("./worker_entry.ts", import.meta.url), {
    type: "module",
    name: "worker",
  });
  worker.addEventListener("message", ({ data }) => onMessage(data as WorkerMessage));
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

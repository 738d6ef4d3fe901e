/** A worker's side of the messages with the owner. @module */
import { metricsText } from "../../admin/admin.ts";
import { errorMessage } from "../../cli/output.ts";
import type { Refusal } from "../../service/following_service.ts";
import { closeInTime, hasWork, untilResponded } from "../api_server.ts";
import type { Listening } from "../listen.ts";
import type {
  OwnerMessage,
  OwnerReplies,
  RecordedSecond,
  WorkerMessage,
  WorkerReplies,
  WorkerTask,
} from "./messages.ts";
import { Queries } from "./queries.ts";
import { makeParts, type Owner, type WorkerParts } from "./worker_parts.ts";

/** A thread that serves requests. */
export class ServingThread implements WorkerReplies {
  readonly #post: (message: WorkerMessage) => void;
  /** Ends the thread. */
  readonly #end: () => void;
  readonly #queries: Queries<keyof OwnerReplies>;
  /** Null before the task arrives. */
  #parts: Promise<WorkerParts> | null = null;
  #made: WorkerParts | null = null;
  #api: Promise<Listening> | null = null;
  #hasFailed = false;

  constructor(post: (message: WorkerMessage) => void, end: () => void) {
    this.#post = post;
    this.#end = end;
    this.#queries = new Queries(post);
  }

  /** Takes a message. Rejects if the thread cannot continue. */
  async receive(message: OwnerMessage): Promise<void> {
    switch (message.kind) {
      case "serve":
        return await this.#serve(message.task);
      case "change":
        return await (await this.#parts)?.service.apply(message.change);
      case "retrying":
        return this.#made?.service.setRetry(message.seconds);
      case "close-connections":
        return (await this.#api)?.closeConnections();
      case "stop":
        return await this.#stop();
      case "query":
        return this.#post({ kind: "reply", id: message.id, value: await this[message.name]() });
      case "reply":
        return this.#queries.settle(message);
      default:
        return message satisfies never;
    }
  }

  /** Reports an error that ends the thread, with the metrics that it leaves. */
  fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const isStarted = this.#made !== null;
    this.#made?.observe({ kind: "unexpected-error", error });
    this.#made?.log.flush();
    const reason = isStarted ? null : errorMessage(error);
    this.#post({ kind: "failed", reason, metrics: this.metrics() });
    this.#end();
  }

  metrics(): string {
    return this.#made === null ? "" : metricsText(this.#made.service);
  }

  recorded(): RecordedSecond | null {
    const { service, recorder = null } = this.#made ?? {};
    if (service === undefined || recorder === null) return null;
    const { pool, jwtCache } = service.metrics();
    return { requests: recorder.take(), metrics: { pool, jwtCache } };
  }

  async hold(): Promise<number> {
    return await (await this.#api)?.hold() ?? 0;
  }

  async closeSocket(): Promise<void> {
    await (await this.#api)?.closeSocket();
  }

  async #serve(task: WorkerTask): Promise<void> {
    this.#parts = makeParts(task, this.#owner());
    this.#made = await this.#parts;
    this.#api = this.#made.listen();
    const { address } = await this.#api;
    this.#post({ kind: "listening", address });
  }

  #owner(): Owner {
    const ask = (name: keyof OwnerReplies) => this.#queries.send(name);
    return {
      isReady: async () => await ask("isReady") === true,
      recover: () => this.#post({ kind: "connection-lost" }),
      missName: () => this.#post({ kind: "name-missed" }),
      readRevocations: async () => await this.#applied(ask("readRevocations")),
      postLines: (lines) => this.#post({ kind: "log", lines }),
      onFatal: () => {
        this.#made?.log.flush();
        this.#post({ kind: "fatal" });
      },
    };
  }

  /** Waits for the changes that the owner has sent before its reply. */
  async #applied(reply: Promise<unknown>): Promise<Refusal> {
    const refusal = await reply as Refusal;
    await this.#made?.service.applied;
    return refusal;
  }

  async #stop(): Promise<void> {
    const [parts, api] = await Promise.all([this.#parts, this.#api]);
    if (parts !== null) {
      const { service, log } = parts;
      service.endStreams();
      await untilResponded(Promise.resolve(api?.shutdown()), () => hasWork(service.database));
      await closeInTime(service);
      log.flush();
    }
    this.#post({ kind: "stopped" });
    this.#end();
  }
}

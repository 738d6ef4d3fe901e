/** Messages between the thread that owns the process and the threads that serve requests. Secrets
 * of the configuration pass in messages only, never in a URL or in the environment. @module */
import type { RecordedRequests } from "../../admin/recorder.ts";
import type { CallWords } from "../../observe/call_words.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { StateChange } from "../../service/followed_state.ts";
import type { Refusal } from "../../service/following_service.ts";
import type { PartOfProcess } from "./shares.ts";

/** A worker's number, from 1, its part of the process's limits, and all that it needs to serve. */
export interface WorkerTask {
  readonly part: PartOfProcess;
  /** Name of the dialect. */
  readonly dialect: string;
  readonly state: StateChange;
  /** Path of the configuration file; null without one. */
  readonly file: string | null;
  /** Port of the API. */
  readonly port: number;
  readonly call: CallWords;
  /** Refuses requests of pages of other sites. */
  readonly isQuick: boolean;
}

/** Lines of the two logs, each text without its last line feed; empty for none. */
export interface LogLines {
  readonly access: string;
  readonly diagnostics: string;
}

/** Queries of a worker, and what the owner replies. */
export interface OwnerReplies {
  isReady(): Promise<boolean>;
  readRevocations(): Promise<Refusal>;
}

/** The console's facts of one thread since the last query. */
export interface RecordedSecond {
  readonly requests: RecordedRequests;
  readonly metrics: Pick<Metrics, "pool" | "jwtCache">;
}

/** Queries of the owner, and what a worker replies. */
export interface WorkerReplies {
  /** The worker's metrics as text. */
  metrics(): string;
  /** Null without a console. */
  recorded(): RecordedSecond | null;
  /** Holds responses. Replies when no more requests arrive, with the number of those since the start. */
  hold(): Promise<number>;
  /** Closes the socket; responses are still held. */
  closeSocket(): Promise<void>;
}

/** A query, whose reply has its number. */
export interface ThreadQuery<Name> {
  readonly kind: "query";
  readonly id: number;
  readonly name: Name;
}

/** A reply. */
export interface QueryReply {
  readonly kind: "reply";
  readonly id: number;
  readonly value: unknown;
}

/** A message of the owner. */
export type OwnerMessage =
  | { readonly kind: "serve"; readonly task: WorkerTask }
  | { readonly kind: "change"; readonly change: StateChange }
  /** The owner connects to the database again after these seconds. */
  | { readonly kind: "retrying"; readonly seconds: number }
  /** Each response from now on closes its connection. */
  | { readonly kind: "close-connections" }
  | { readonly kind: "stop" }
  | ThreadQuery<keyof WorkerReplies>
  | QueryReply;

/** A message of a worker. */
export type WorkerMessage =
  /** The worker's modules are loaded. */
  | { readonly kind: "loaded" }
  | { readonly kind: "listening"; readonly address: string }
  | { readonly kind: "log"; readonly lines: LogLines }
  /** A request has lost its connection to the database. */
  | { readonly kind: "connection-lost" }
  /** A request names something that the schema cache lacks. */
  | { readonly kind: "name-missed" }
  /** A failure was reported that ends the process. */
  | { readonly kind: "fatal" }
  /** The worker has failed, and ends. `reason` is null if the log has it already. */
  | { readonly kind: "failed"; readonly reason: string | null; readonly metrics: string }
  /** The worker has stopped, as the owner wished. */
  | { readonly kind: "stopped" }
  | ThreadQuery<keyof OwnerReplies>
  | QueryReply;

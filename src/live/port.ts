/** The interface between live queries and the handler, which makes their reads. @module */
import type { Identity } from "../auth/jwt_cache.ts";
import type { Config } from "../config/options.ts";
import type { ServiceError } from "../errors/service_error.ts";
import type { PgSnapshot } from "./offset.ts";
import type { Interest } from "./scope.ts";

/** The request that all subscribers of a group have made. */
export interface LiveQuery {
  /** As received, below the prefix. */
  readonly path: string;
  /** Percent-encoded, without the parameters of the protocol. */
  readonly query: string;
  /** Value of `Accept-Profile`; null without it. */
  readonly profile: string | null;
  /** Time zone of `Prefer`; null without it. */
  readonly timezone: string | null;
  readonly identity: Identity;
}

/** The result of a run. */
export interface LiveRows {
  /** Rows as JSON, each on a line. */
  readonly lines: readonly string[];
  readonly snapshot: PgSnapshot;
  /** Time in PostgreSQL, without that in the queue. */
  readonly ms: number;
  /** Output names of the primary key's columns; empty if the rows lack one. */
  readonly keyColumns: readonly string[];
  /** Null if it is unknown. */
  readonly interest: Interest | null;
}

/** A request below the prefix. */
export interface LiveMessage extends Pick<LiveQuery, "path"> {
  readonly method: string;
  readonly query: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly config: Config;
  /** Names the client for limits, once it is admitted. */
  readonly clientKey: string;
  /** Verifies the token; counts the start of a stream for `rate-limits`. Rejects with the API's errors. */
  admit(use: "start" | "poll"): Promise<Identity>;
}

/** Reads the rows of a query. */
export type ReadRows = (query: LiveQuery, signal: AbortSignal) => Promise<LiveRows | ServiceError>;

/** The interface of groups to the reads of their rows. @module */
import type { Identity } from "../auth/jwt_cache.ts";
import type { ServiceError } from "../errors/service_error.ts";
import type { PgSnapshot } from "./offset.ts";
import type { Interest } from "./scope.ts";

/** The request that all subscribers of a group have made. */
export interface LiveQuery {
  /** As received, below the prefix. */
  readonly path: string;
  /** Percent-encoded, without the parameters of the protocol. */
  readonly query: string;
  /** Values of `Accept-Profile`, and of `timezone` in `Prefer`; null without them. */
  readonly profile: string | null;
  readonly timezone: string | null;
  readonly identity: Identity;
}

/** The result of a run. */
export interface LiveRows {
  /** Rows as JSON. */
  readonly lines: readonly string[];
  readonly snapshot: PgSnapshot;
  /** Time in PostgreSQL, without that in the queue. */
  readonly ms: number;
  /** Output names of the primary key's columns; empty if the rows lack one. */
  readonly keyColumns: readonly string[];
  /** Null if it is unknown. */
  readonly interest: Interest | null;
}

export type ReadRows = (query: LiveQuery, signal: AbortSignal) => Promise<LiveRows | ServiceError>;

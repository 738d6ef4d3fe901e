/** Options of `AppState`. @module */
import type { Fetch } from "../auth/fetch_document.ts";
import type { TenantRule } from "../auth/claims.ts";
import type { ConfigSource } from "../config/source.ts";
import type { Database } from "../../database/database.ts";
import type { SpanContext } from "../../base/http/trace_context.ts";
import type { Observation } from "../../base/observe/observation.ts";
import type { RequestMetrics } from "../../base/observe/request_metrics.ts";
import type { TraceStage } from "../../base/observe/stopwatch.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";

/** Options of each thread that serves. */
export interface AppStateBaseOptions {
  readonly database: Database;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly observe: (event: Observation) => void;
  /** Ends the process. Called once, after a fatal failure was reported. Default: the service continues. */
  readonly onFatal?: () => void;
  /** Receives the times of requests' stages. Default: null. */
  readonly traceStage?: TraceStage | null;
  /** Sets an attribute of the open OpenTelemetry span. Default: null. */
  readonly setSpanAttribute?: SetSpanAttribute | null;
  /** Returns the span of OpenTelemetry that the current request belongs to. Default: null. */
  readonly activeSpan?: (() => SpanContext | null) | null;
  /** Whether requests and events are counted for `/metrics`. Default: false. */
  readonly isCounted?: boolean;
  /** Counter of requests that several states share. Default: a separate counter, if `isCounted`. */
  readonly requestMetrics?: RequestMetrics;
  /** Returns whether the times in the queue and in the database are measured. Default: false. */
  readonly isTimed?: () => boolean;
}

export interface AppStateOptions extends AppStateBaseOptions {
  /** Reads the configuration's sources. Operators see the messages of errors that it throws. */
  readonly source: () => ConfigSource;
  /** Schema cache that serves requests until the first load. Default: null. */
  readonly schemaCache?: SchemaCache | null;
  /** Age in ms after which a request reloads the schema cache. Default: `Infinity`. */
  readonly schemaCacheMaxAge?: number;
  /**
   * `shared`: all requests wait for one load, which is retried. `unshared`: each request waits for
   * a separate load. Default: `shared`.
   */
  readonly loading?: "shared" | "unshared";
  /** Called after each change of `AppState.followed`. Default: nothing is called. */
  readonly onFollowedChange?: () => void;
  /** Number of other threads that follow this state. Default: 0. */
  readonly followers?: number;
  /** Fetches the keys of issuers. Default: the runtime's `fetch`. */
  readonly fetch?: Fetch;
  /** The tenant that the service serves. Default: null. */
  readonly tenant?: TenantRule | null;
  /** Exposes no functions that belong to extensions. Default: false. */
  readonly hidesExtensionFunctions?: boolean;
  /** Whether error responses give the reason while no schema cache is loaded. Default: `reason`. */
  readonly missingCacheDetail?: "reason" | "none";
}

export type SetSpanAttribute = (name: string, value: number) => void;

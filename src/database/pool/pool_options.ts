/** Options of a pool. @module */
import type { Clock } from "../../base/lib/clock.ts";
import type { ConnectionOptions } from "../connection/connection.ts";
import type { DatabaseOptions } from "../database.ts";
import type { StaleStatement } from "../protocol/server_error.ts";
import type { Transport } from "../transport.ts";

/** Settings of a pool. Times are in milliseconds; `Infinity` means never. */
export interface PoolOptions extends Omit<ConnectionOptions, "clock"> {
  readonly max: number;
  readonly acquisitionTimeoutMs: number;
  readonly maxIdleTimeMs: number;
  readonly maxLifetimeMs: number;
  readonly clock: Clock;
  /** Opens and authenticates a connection. Operators see the message of its error. */
  readonly connect: () => Promise<Transport>;
  /** See `ConnectionEvents.statementForgotten`. */
  readonly onStatementForgotten?: (sqlstate: StaleStatement) => void;
}

/** Options of a pool that can change while it is open. */
export interface PoolConfiguration extends DatabaseOptions {
  readonly prepare: boolean;
  /** See `ConnectionOptions.sharesSession`. Default: not `prepare`. */
  readonly sharesSession?: boolean;
}

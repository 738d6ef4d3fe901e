/** Opens the connections of a pool on demand. @module */
import type { Clock } from "../../lib/clock.ts";
import type { Transport } from "../transport.ts";
import { type PoolTrace, type TracedConnection, traceStep } from "./pool_trace.ts";

/** How connections are opened. */
interface OpenerOptions {
  /** Maximum number of connections of the pool. */
  readonly max: number;
  readonly clock: Pick<Clock, "now">;
  /** Opens and authenticates a connection. */
  readonly connect: () => Promise<Transport>;
}

/** State of the pool when it needs connections. */
interface Demand {
  /** Number of waiting batches. */
  readonly waiting: number;
  /** Number of open connections. */
  readonly open: number;
  /** See `PooledConnection.generation`. */
  readonly generation: number;
  readonly trace: PoolTrace | null;
}

export interface OpenedConnection extends TracedConnection {
  readonly transport: Transport;
  readonly generation: number;
  readonly trace: PoolTrace | null;
}

/** Events of the opener, each after {@linkcode ConnectionOpener.count} was decreased. */
interface OpenerEvents {
  opened(connection: OpenedConnection): void;
  /** The server cannot be reached, or refuses the connection. */
  refused(error: Error): void;
  /** Follows each of the others. */
  settled(): void;
}

/** After a refusal a pool with open connections makes do with these for this time. */
const refusalPauseMs = 1000;

/** Counts the connections that are being opened. */
export class ConnectionOpener {
  readonly #options: OpenerOptions;
  readonly #events: OpenerEvents;
  #count = 0;
  #refusedAt = -Infinity;

  constructor(options: OpenerOptions, events: OpenerEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Number of connections that are being opened. */
  get count(): number {
    return this.#count;
  }

  /**
   * Opens connections while more batches wait than connections are being opened. Pauses after a
   * refusal: an attempt may take a connection from other clients.
   */
  openFor(demand: Demand): void {
    const { max, clock } = this.#options;
    const wasRefused = clock.now() - this.#refusedAt < refusalPauseMs;
    if (wasRefused && demand.open > 0) return;
    while (this.#count < demand.waiting && demand.open + this.#count < max) {
      this.#count++;
      this.#open(demand);
    }
  }

  async #open({ generation, trace }: Demand): Promise<void> {
    const traced: TracedConnection = { id: null };
    traceStep(trace, traced, "being established");
    try {
      const transport = await this.#options.connect();
      this.#count--;
      this.#events.opened({ ...traced, transport, generation, trace });
    } catch (error) {
      this.#count--;
      traceStep(trace, traced, "terminated: init failure");
      this.#refusedAt = this.#options.clock.now();
      this.#events.refused(error instanceof Error ? error : new Error("connecting failed"));
    }
    this.#events.settled();
  }
}

/** The idle connections of a pool, which close at a maximum age or idle time. @module */
import { OneShotTimer } from "../../base/lib/one_shot_timer.ts";
import { close, type PooledConnection } from "./pooled_connection.ts";
import type { PoolOptions } from "./pool_options.ts";

export class IdleConnections {
  /** The idle connections. The most recently used one is taken first, so that the rest can age. */
  #connections: PooledConnection[] = [];
  readonly #aging: OneShotTimer;

  constructor(
    private readonly options: Pick<PoolOptions, "clock" | "maxIdleTimeMs" | "maxLifetimeMs">,
  ) {
    this.#aging = new OneShotTimer(options.clock.schedule, () => this.#closeAged());
  }

  get count(): number {
    return this.#connections.length;
  }

  get last(): PooledConnection | undefined {
    return this.#connections.at(-1);
  }

  list(): readonly PooledConnection[] {
    return [...this.#connections];
  }

  take(): PooledConnection | undefined {
    return this.#connections.pop();
  }

  add(pooled: PooledConnection): void {
    this.#connections.push(pooled);
  }

  remove(pooled: PooledConnection): void {
    const position = this.#connections.indexOf(pooled);
    if (position >= 0) this.#connections.splice(position, 1);
  }

  closeAll(): void {
    const connections = this.#connections;
    this.#connections = [];
    for (const pooled of connections) close(pooled, "release");
  }

  isTooOld({ openedAt }: PooledConnection, now: number): boolean {
    return now - openedAt > this.options.maxLifetimeMs;
  }

  /** Starts the timer that closes aged connections. It runs while connections are idle. */
  startAging(): void {
    const { maxIdleTimeMs, maxLifetimeMs } = this.options;
    const period = Math.min(maxIdleTimeMs, maxLifetimeMs) / 2;
    if (this.count > 0 && period !== Infinity) this.#aging.start(Math.max(period, 100));
  }

  stopAging(): void {
    this.#aging.clear();
  }

  #closeAged(): void {
    const now = this.options.clock.now();
    for (const pooled of this.list()) {
      // A connection may have work by now, because closing one may start a transaction on another.
      if (pooled.work !== null) continue;
      if (this.isTooOld(pooled, now)) close(pooled, "max lifetime");
      else if (now - pooled.idleSince > this.options.maxIdleTimeMs) close(pooled, "max idletime");
    }
    this.startAging();
  }
}

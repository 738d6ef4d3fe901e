/** Divides the limits of a process among its workers. @module */
import type { Config } from "../../../state/config/options.ts";

export interface PartOfProcess {
  /** From 1. */
  readonly number: number;
  readonly workers: number;
}

/** Returns a worker's part of a number, at least 1. The parts add up. 0, for no limit, stays. */
export function shareOf(total: number, { number, workers }: PartOfProcess): number {
  if (total === 0) return 0;
  const rest = number <= total % workers ? 1 : 0;
  return Math.max(1, Math.floor(total / workers) + rest);
}

/** Returns the configuration of a worker, whose limits are its part of the limits of the
 * process. */
export function sharedConfig(config: Config, part: PartOfProcess): Config {
  return {
    ...config,
    dbPool: shareOf(config.dbPool, part),
    dbReplicaPool: config.dbReplicaPool === null ? null : shareOf(config.dbReplicaPool, part),
    liveMaxMemory: shareOf(config.liveMaxMemory, part),
    liveMaxStreams: shareOf(config.liveMaxStreams, part),
    serverMaxConnections: shareOf(config.serverMaxConnections, part),
    serverMaxRequests: shareOf(config.serverMaxRequests, part),
    serverSpoolSize: shareOf(config.serverSpoolSize, part),
  };
}

/** Divides the limits of a process among its workers. @module */
import type { Config } from "../../config/options.ts";
import {
  appliedParameters,
  type ConnectionEnvironment,
} from "../../database/connect/connection_parameters.ts";
import { parseConnectionString } from "../../database/connect/connection_string.ts";
import { isEmbedded } from "../../database/open.ts";
import { isLoopbackHost } from "../../http/host.ts";
import type { WorkerLimit } from "../../observe/observation.ts";

/** One of the workers of a process. */
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

/** Returns the configuration of a worker, whose limits are its part of those of the process. */
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

/** Returns the configuration of the owner's connections, which it needs for loads. */
export function ownerConfig(config: Config): Config {
  return { ...config, dbPool: 1, dbReplicaPool: 1 };
}

/** A number of workers, and what has lowered the configured one; null for nothing. */
export interface WorkerCount {
  readonly workers: number;
  readonly limit: WorkerLimit | null;
}

/** The machine and the runtime of a process. */
export interface Machine {
  readonly cores: number;
  /** The environment, which may name the database's host. */
  readonly environment: ConnectionEnvironment;
  /** Why several threads cannot listen on one address; null if they can. */
  readonly addressLimit: "system" | "unstable-net" | null;
}

type CountedConfig = Pick<
  Config,
  "dbPool" | "dbUri" | "serverUnixSocket" | "serverWorkers" | "tenants"
>;

/** Returns how many threads serve. */
export function workerCount(config: CountedConfig, machine: Machine): WorkerCount {
  const { dbPool, dbUri, serverWorkers } = config;
  if (serverWorkers === 1) return { workers: 1, limit: null };
  const limit = singleThreadLimit(config, machine);
  if (serverWorkers === "auto") {
    const workers = limit === null ? Math.min(usefulWorkers(dbUri, machine), dbPool) : 1;
    return { workers, limit: null };
  }
  if (limit !== null) return { workers: 1, limit };
  return serverWorkers > dbPool
    ? { workers: dbPool, limit: "db-pool" }
    : { workers: serverWorkers, limit: null };
}

function singleThreadLimit(
  { dbUri, serverUnixSocket, tenants }: CountedConfig,
  { addressLimit }: Machine,
): WorkerLimit | null {
  if (addressLimit !== null) return addressLimit;
  if (tenants !== null) return "tenants";
  if (isEmbedded(dbUri)) return "embedded";
  return serverUnixSocket === null ? null : "unix-socket";
}

/** PostgreSQL needs about as much processor time for a request as the service does. */
function usefulWorkers(dbUri: string, { cores, environment }: Machine): number {
  return hasLocalHost(dbUri, environment) ? Math.max(1, Math.floor(cores / 2)) : cores;
}

/** Returns whether any server of a connection string may run on this machine. */
function hasLocalHost(dbUri: string, environment: ConnectionEnvironment): boolean {
  const parameters = appliedParameters(parseConnectionString(dbUri), environment);
  const hosts = (parameters.get("host") ?? "").split(",");
  return hosts.some((host) => host === "" || /^[/@]/.test(host) || isLoopbackHost(host));
}

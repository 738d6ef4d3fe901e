/** The number of threads that serve, by the configuration and the machine. @module */
import { availableParallelism } from "node:os";
import process from "node:process";
import type { Config } from "../../state/config/options.ts";
import {
  appliedParameters,
  type ConnectionEnvironment,
} from "../../database/connect/connection_parameters.ts";
import { parseConnectionString } from "../../database/connect/connection_string.ts";
import { isEmbedded } from "../../database/open.ts";
import { isLoopbackHost } from "../../base/http/host.ts";
import type { WorkerLimit } from "../../base/observe/diagnostics.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { hostOf } from "../wings.ts";

/** Returns the number of workers. Reports a number that is lower than configured. */
export function countWorkers(
  config: CountedConfig,
  observe: (event: Observation) => void,
): number {
  const { workers, limit } = workerCount(config, {
    cores: availableParallelism(),
    environment: process.env,
    addressLimit: addressLimit(),
  });
  if (limit !== null) observe({ kind: "workers-limited", workers, limit });
  return workers;
}

/** Returns why threads cannot share an address. Node cannot share an address between threads. Systems
 * other than Linux do not distribute the connections. */
function addressLimit(): Machine["addressLimit"] {
  if (!("Deno" in globalThis) || process.platform !== "linux") return "system";
  // This function exists if the flag `--unstable-net` is set, which permits to share an address.
  return "listenDatagram" in Deno ? null : "unstable-net";
}

/** A number of workers, and the reason why it is lower than configured; null if it is not. */
export interface WorkerCount {
  readonly workers: number;
  readonly limit: WorkerLimit | null;
}

export interface Machine {
  readonly cores: number;
  /** The environment, which may contain the host of the database. */
  readonly environment: ConnectionEnvironment;
  /** Reason why several threads cannot listen on one address; null if they can. */
  readonly addressLimit: "system" | "unstable-net" | null;
}

type CountedConfig = Pick<
  Config,
  "dbPool" | "dbUri" | "serverUnixSocket" | "serverWorkers"
>;

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
  config: CountedConfig,
  { addressLimit }: Machine,
): WorkerLimit | null {
  if (addressLimit !== null) return addressLimit;
  if (hostOf(config) !== null) return "tenants";
  const { dbUri, serverUnixSocket } = config;
  if (isEmbedded(dbUri)) return "embedded";
  return serverUnixSocket === null ? null : "unix-socket";
}

/** Returns the useful number of workers. PostgreSQL needs about as much processor time for a
 * request as the service. */
function usefulWorkers(dbUri: string, { cores, environment }: Machine): number {
  return hasLocalHost(dbUri, environment) ? Math.max(1, Math.floor(cores / 2)) : cores;
}

/** Returns whether a server in a connection string may run on this machine. */
function hasLocalHost(dbUri: string, environment: ConnectionEnvironment): boolean {
  const parameters = appliedParameters(parseConnectionString(dbUri), environment);
  const hosts = (parameters.get("host") ?? "").split(",");
  return hosts.some((host) => host === "" || /^[/@]/.test(host) || isLoopbackHost(host));
}

/** Plans a deployment: `deno task capacity --rate 20000`. Prints pool size, instances, connections
 * and warnings, by Little's law and a model of one instance. `--help` names the arguments. @module */
import { parseArgs } from "node:util";
import { mostConnections } from "../../src/state/app_state/server_check.ts";
import { markdownTable } from "./table.ts";

const usage = `Usage: deno task capacity --rate N [options]

  --rate N               requests per second at peak
  --service-us N         processor time of the service per request (default 21)
  --database-us N        processor time of PostgreSQL per request (default 20)
  --in-use N:R           connections in use on average in a measured run, at R requests per second
  --connection-us N      in place of it, the time for which a request occupies a connection
                         (default 500: assumed)
  --no-listener          db-channel-enabled is false
  --threads N            threads of each instance, server-workers (default 1)
  --beside               PostgreSQL shares the processors of the service
  --databases N          PostgreSQL servers: primary and standbys (default 1)
  --database-cores N     processors of each PostgreSQL server (default 4)
  --max-connections N    of each PostgreSQL server (default 100)
  --sigma N, --kappa N   coefficients of the model (default 0.02, 0.00005: assumed)
`;

const options = {
  help: { type: "boolean", default: false },
  beside: { type: "boolean", default: false },
  rate: { type: "string", default: "" },
  "service-us": { type: "string", default: "21" },
  "database-us": { type: "string", default: "20" },
  "in-use": { type: "string" },
  "connection-us": { type: "string", default: "500" },
  "no-listener": { type: "boolean", default: false },
  threads: { type: "string", default: "1" },
  databases: { type: "string", default: "1" },
  "database-cores": { type: "string", default: "4" },
  "max-connections": { type: "string", default: "100" },
  sigma: { type: "string", default: "0.02" },
  kappa: { type: "string", default: "0.00005" },
} as const;

/** What a deployment has to serve, and on what. */
export interface CapacityDemand {
  /** Requests per second at peak. */
  readonly rate: number;
  /** Microseconds for which a request occupies a connection of the pool, the network included. */
  readonly connectionUs: number;
  /** Microseconds of PostgreSQL's processor time per request. */
  readonly databaseUs: number;
  /** Threads that serve in one instance: `server-workers`. */
  readonly threads: number;
  /** Whether each instance listens for notifications on the primary: `db-channel-enabled`. */
  readonly listens: boolean;
  /** PostgreSQL servers that share the requests: the primary and its standbys. */
  readonly databases: number;
  /** Processors of each PostgreSQL server. */
  readonly databaseCores: number;
  /** `max_connections` of each PostgreSQL server. */
  readonly maxConnections: number;
  readonly model: ScalabilityModel;
}

/**
 * The Universal Scalability Law (N. J. Gunther, "Guerrilla Capacity Planning"): throughput of N threads as
 * `X(N) = λN / (1 + σ(N − 1) + κN(N − 1))`. σ is the share of the work that only one thread does at a
 * time, κ the cost of keeping each pair of threads coherent.
 */
export interface ScalabilityModel {
  /** Requests per second of one thread: λ. */
  readonly rate: number;
  /** Contention: σ. */
  readonly sigma: number;
  /** Coherency: κ. */
  readonly kappa: number;
}

/** Returns the requests per second that a model expects of some threads. */
export function throughput({ rate, sigma, kappa }: ScalabilityModel, threads: number): number {
  const others = threads - 1;
  return rate * threads / (1 + sigma * others + kappa * threads * others);
}

/** The answer to a {@linkcode CapacityDemand}. */
export interface CapacityPlan {
  /** Requests per second of one instance. */
  readonly instanceRate: number;
  /** Instances, the spare one included. */
  readonly instances: number;
  /** Connections that are busy on average, on all PostgreSQL servers. */
  readonly busyConnections: number;
  /** Connections of each instance to each PostgreSQL server: `db-pool`, `db-replica-pool`. */
  readonly pool: number;
  /** Connections to each PostgreSQL server while an upgrade runs one instance more. */
  readonly connections: number;
  /** Share of PostgreSQL's processor time that is used. */
  readonly databaseLoad: number;
  readonly warnings: readonly string[];
}

/** Share of the measured capacity that is planned for: queues grow without bound towards 1. */
const plannedLoad = 0.6;

/** Pool in relation to the connections that are busy on average. */
const poolReserve = 1.5;

/** Connections per processor above which requests queue in PostgreSQL in place of the service. */
const maxConnectionsPerCore = 4;

/** Connections for superusers and other programs. */
const reservedConnections = 10;

/** Plans for a demand. */
export function planCapacity(demand: CapacityDemand): CapacityPlan {
  const { rate, connectionUs, databaseUs, threads, databases, databaseCores, model } = demand;
  const instanceRate = throughput(model, threads);
  const working = Math.max(1, Math.ceil(rate / (plannedLoad * instanceRate)));
  const instances = working + 1;
  const busyConnections = rate * connectionUs / 1e6;
  const maxUseful = maxConnectionsPerCore * databaseCores * databases;
  const wanted = Math.min(poolReserve * busyConnections, maxUseful);
  // The pools suffice while one instance is away.
  const pool = Math.max(1, Math.ceil(wanted / working / databases));
  const connections = (instances + 1) * (pool + connectionsBesidePool(demand));
  const databaseLoad = rate * databaseUs / 1e6 / (databases * databaseCores);
  const plan = { instanceRate, instances, busyConnections, pool, connections, databaseLoad };
  return { ...plan, warnings: warningsOf(demand, { ...plan, maxUseful }) };
}

/** Each standby has the monitors alone, so that the primary needs the most connections. */
function connectionsBesidePool({ threads, databases, listens }: CapacityDemand): number {
  const followers = threads > 1 ? threads : 0;
  const options = {
    dbPool: 0,
    dbChannelEnabled: listens,
    dbReplicaUri: databases > 1 ? "standbys" : null,
  };
  return mostConnections(options, followers);
}

function warningsOf(
  { rate, connectionUs, databaseUs, threads, databases, maxConnections }: CapacityDemand,
  { pool, connections, databaseLoad, busyConnections, maxUseful }:
    & Omit<CapacityPlan, "warnings">
    & { readonly maxUseful: number },
): readonly string[] {
  const cores = Math.ceil(rate * databaseUs / 1e6 / plannedLoad / databases);
  const most = Math.floor(maxUseful * 1e6 / connectionUs);
  const allowed = maxConnections - reservedConnections;
  const warnings: readonly (readonly [boolean, string])[] = [
    [
      databaseLoad > plannedLoad,
      `PostgreSQL needs ${cores} processors on each server to stay below ${plannedLoad * 100} %`,
    ],
    [
      busyConnections > maxUseful,
      `requests queue: ${maxUseful} connections carry at most ${most.toLocaleString("en")}/s`,
    ],
    [
      connections > allowed,
      `${connections} connections exceed max_connections minus ${reservedConnections}: ` +
      "use a pooler, fewer instances or a higher max_connections",
    ],
    [
      pool < threads,
      `a pool of ${pool} lowers ${threads} threads to ${pool}, since each needs a connection`,
    ],
  ];
  return warnings.filter(([holds]) => holds).map(([, text]) => text);
}

/** Reads arguments; null for `--help`. Throws a `TypeError` if one is wrong. */
export function readCapacityArguments(args: readonly string[]): CapacityDemand | null {
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const numberOf = (name: Exclude<keyof typeof values, "help" | "beside" | "no-listener">) =>
    positive(`--${name}`, values[name] ?? "");
  const thread = numberOf("service-us") + (values.beside ? numberOf("database-us") : 0);
  return {
    rate: numberOf("rate"),
    connectionUs: values["in-use"] === undefined
      ? numberOf("connection-us")
      : occupancyOf(values["in-use"]),
    listens: !values["no-listener"],
    databaseUs: numberOf("database-us"),
    threads: numberOf("threads"),
    databases: numberOf("databases"),
    databaseCores: numberOf("database-cores"),
    maxConnections: numberOf("max-connections"),
    model: {
      rate: 1e6 / thread,
      sigma: notNegative("--sigma", values.sigma),
      kappa: notNegative("--kappa", values.kappa),
    },
  };
}

/** Returns the microseconds that a request occupies a connection, by Little's law. */
function occupancyOf(text: string): number {
  const [inUse = "", rate = "", ...others] = text.split(":");
  if (others.length > 0) throw new TypeError(`--in-use: expected connections:rate, got ${text}`);
  return positive("--in-use", inUse) / positive("--in-use", rate) * 1e6;
}

function positive(name: string, text: string): number {
  const number = notNegative(name, text);
  if (number > 0) return number;
  throw new TypeError(`${name}: expected a number above 0, got ${text || "nothing"}`);
}

function notNegative(name: string, text: string): number {
  if (/^\d+(\.\d+)?(e-?\d+)?$/.test(text)) return Number(text);
  throw new TypeError(`${name}: expected a number, got ${text || "nothing"}`);
}

/** Returns the text that the command prints. */
export function describeCapacity(demand: CapacityDemand): string {
  const plan = planCapacity(demand);
  const server = demand.databases === 1 ? "PostgreSQL" : "each PostgreSQL server";
  const rows = [
    ["requests per second at peak", whole(demand.rate)],
    ["requests per second of one instance", whole(plan.instanceRate)],
    [`instances at ${plannedLoad * 100} %, and one spare`, whole(plan.instances)],
    ["connections that are busy on average", whole(plan.busyConnections)],
    [`pool of each instance to ${server}`, whole(plan.pool)],
    [`connections to ${server} during an upgrade`, whole(plan.connections)],
    ["PostgreSQL's processor time in use", `${(plan.databaseLoad * 100).toFixed(1)} %`],
  ];
  return [
    markdownTable(["", "plan"], rows),
    "",
    ...plan.warnings.map((text) => `Warning: ${text}`),
    "These are estimates: compare them with a load test of your own requests.",
  ].join("\n");
}

function whole(number: number): string {
  return Math.round(number).toLocaleString("en");
}

/** Runs the command and returns its exit code. */
function main(args: readonly string[]): number {
  try {
    const demand = readCapacityArguments(args);
    console.log(demand === null ? usage : describeCapacity(demand));
    return 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    return 2;
  }
}

if (import.meta.main) Deno.exit(main(Deno.args));

/** Plans a deployment: `deno task capacity --rate 20000`. Prints pool size, instances, connections
 * and warnings, and fits the model of one instance to measured points. `--help` names the
 * arguments. @module */
import { parseArgs } from "node:util";
import {
  type CapacityDemand,
  type CapacityPlan,
  planCapacity,
  plannedLoad,
} from "./capacity_plan.ts";
import {
  assumed,
  fitModel,
  type FittedModel,
  type MeasuredPoint,
  modelErrors,
  throughput,
} from "./scalability.ts";
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
  --sigma N, --kappa N   coefficients of the model (default ${assumed.sigma}, 0.00005: assumed)
  --measured N:R,N:R,…   requests per second R of N threads: fits the model to them
`;

const options = {
  help: { type: "boolean", default: false },
  beside: { type: "boolean", default: false },
  rate: { type: "string" },
  "service-us": { type: "string", default: "21" },
  "database-us": { type: "string", default: "20" },
  "in-use": { type: "string" },
  "connection-us": { type: "string" },
  "no-listener": { type: "boolean", default: false },
  threads: { type: "string", default: "1" },
  databases: { type: "string", default: "1" },
  "database-cores": { type: "string", default: "4" },
  "max-connections": { type: "string", default: "100" },
  sigma: { type: "string", default: String(assumed.sigma) },
  kappa: { type: "string", default: String(assumed.kappa) },
  measured: { type: "string" },
} as const;

/** What is to be planned. */
export interface CapacityRequest {
  readonly demand: Omit<CapacityDemand, "model">;
  readonly model: FittedModel;
  readonly points: readonly MeasuredPoint[];
  /** Whether the time of a request on its connection is only assumed. */
  readonly isOccupancyAssumed: boolean;
}

const assumedConnectionUs = "500";

/** Reads arguments; null for `--help`. Throws a `TypeError` if one is wrong. */
export function readCapacityArguments(args: readonly string[]): CapacityRequest | null {
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const numberOf = (
    name:
      | "rate"
      | "service-us"
      | "database-us"
      | "threads"
      | "databases"
      | "database-cores"
      | "max-connections",
  ) => positive(`--${name}`, values[name] ?? "");
  const coefficients = {
    sigma: notNegative("--sigma", values.sigma),
    kappa: notNegative("--kappa", values.kappa),
  };
  const points = values.measured === undefined ? [] : readPoints(values.measured);
  const thread = numberOf("service-us") + (values.beside ? numberOf("database-us") : 0);
  return {
    points,
    isOccupancyAssumed: values["in-use"] === undefined && values["connection-us"] === undefined,
    model: points.length === 0
      ? { rate: 1e6 / thread, ...coefficients, fitted: [] }
      : fitModel(points, coefficients),
    demand: {
      rate: numberOf("rate"),
      connectionUs: values["in-use"] === undefined
        ? positive("--connection-us", values["connection-us"] ?? assumedConnectionUs)
        : occupancyOf(values["in-use"]),
      listens: !values["no-listener"],
      databaseUs: numberOf("database-us"),
      threads: numberOf("threads"),
      databases: numberOf("databases"),
      databaseCores: numberOf("database-cores"),
      maxConnections: numberOf("max-connections"),
    },
  };
}

/** Returns the microseconds that a request occupies a connection, by Little's law. */
function occupancyOf(text: string): number {
  const [inUse = "", rate = "", ...others] = text.split(":");
  if (others.length > 0) throw new TypeError(`--in-use: expected connections:rate, got ${text}`);
  return positive("--in-use", inUse) / positive("--in-use", rate) * 1e6;
}

/** `Points = Point *( "," Point )`, `Point = threads ":" requests-per-second` */
function readPoints(text: string): readonly MeasuredPoint[] {
  return text.split(",").map((point) => {
    const [threads = "", rate = "", ...others] = point.split(":");
    if (others.length > 0 || !/^\d+$/.test(threads)) {
      throw new TypeError(`--measured: expected threads:rate, got ${point}`);
    }
    return { threads: positive("--measured", threads), rate: positive("--measured", rate) };
  });
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
export function describeCapacity(request: CapacityRequest): string {
  const { demand, model, points, isOccupancyAssumed } = request;
  return [
    describePlan(demand, planCapacity({ ...demand, model })),
    ...(isOccupancyAssumed
      ? ["Connections and pool are estimates: --in-use takes them from a measured run."]
      : []),
    "",
    ...describeModel(model, points),
    "",
    scalingTable(model, points),
    "",
  ].join("\n");
}

function describePlan(
  { rate, databases }: CapacityRequest["demand"],
  plan: CapacityPlan,
): string {
  const eachServer = databases === 1 ? "PostgreSQL" : "each PostgreSQL server";
  const rows = [
    ["requests per second at peak", whole(rate)],
    ["requests per second of one instance", whole(plan.instanceRate)],
    [`instances at ${plannedLoad * 100} %, and one spare`, whole(plan.instances)],
    ["connections that are busy on average", whole(plan.busyConnections)],
    [`pool of each instance to ${eachServer}`, whole(plan.pool)],
    [`connections to ${eachServer} during an upgrade`, whole(plan.connections)],
    ["PostgreSQL's processor time in use", percent(plan.databaseLoad)],
  ];
  const warnings = plan.warnings.map((text) => `Warning: ${text}`);
  return [markdownTable(["", "plan"], rows), ...(warnings.length > 0 ? [""] : []), ...warnings]
    .join("\n");
}

function describeModel(model: FittedModel, points: readonly MeasuredPoint[]): readonly string[] {
  const { rate, sigma, kappa, fitted } = model;
  const origin = (name: "sigma" | "kappa") => fitted.includes(name) ? "fitted" : "assumed";
  const lines = [
    `Model: λ ${whole(rate)}/s, σ ${short(sigma)} (${origin("sigma")}), ` +
    `κ ${short(kappa)} (${origin("kappa")})`,
  ];
  if (points.length === 0) return [...lines, "All rates are estimates: nothing was measured."];
  const errors = modelErrors(model, points).map(Math.abs);
  const note = points.length <= fitted.length ? "; so few points cannot test the model" : "";
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return [
    ...lines,
    `Error at the measured points: mean ${percent(mean)}, ` +
    `at most ${percent(Math.max(...errors))}${note}`,
  ];
}

const tableThreads: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

function scalingTable(model: FittedModel, points: readonly MeasuredPoint[]): string {
  const measured = new Map(points.map((point) => [point.threads, point.rate]));
  const threads = [...new Set([...tableThreads, ...measured.keys()])].toSorted((a, b) => a - b);
  const rows = threads.map((count) => {
    const rate = measured.get(count);
    const expected = throughput(model, count);
    return [
      String(count),
      rate === undefined ? "–" : whole(rate),
      whole(expected),
      rate === undefined ? "estimate" : percent(expected / rate - 1),
    ];
  });
  return markdownTable(["threads", "measured/s", "model/s", "model's error"], rows);
}

function whole(number: number): string {
  return Math.round(number).toLocaleString("en");
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function short(number: number): string {
  return Number(number.toPrecision(3)).toString();
}

/** Runs the command and returns its exit code. */
function main(args: readonly string[]): number {
  try {
    const request = readCapacityArguments(args);
    console.log(request === null ? usage : describeCapacity(request));
    return 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    return 2;
  }
}

if (import.meta.main) Deno.exit(main(Deno.args));

/**
 * Measures the cost of limits, logs, compression and sources of tokens: the service with and without them,
 * in turn.
 *
 * @module
 */
import { type OptionKey, options as configOptions } from "../../src/config/options.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { issuerKey, signWith } from "../../tests/support/key_sets.ts";
import { withClient } from "../../tests/support/postgres_client.ts";
import type { FileConfig } from "../../tests/support/process.ts";
import { signToken } from "../../tests/support/token.ts";
import { type Bench, progress, untilIdle } from "./bench.ts";
import { exchange } from "./exchange.ts";
import { median } from "./figures.ts";
import { serverConfig, userRole } from "./fixture.ts";
import { type LoadFigures, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { rowByKey } from "./plain_cases.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";
import type { LoadRequest } from "./wrk.ts";

/** A configuration that is compared with the first one of its group. */
interface GuardCase {
  readonly name: string;
  readonly config: FileConfig;
  /** Value of `Accept-Encoding`. Default: `identity`. */
  readonly accept?: string;
  /** Token of each request, which is in the cache of tokens after the first one. Default: none. */
  readonly token?: string;
}

/** Cases of the same request. */
interface GuardGroup {
  readonly name: string;
  readonly request: LoadRequest;
  readonly cases: readonly GuardCase[];
}

/** Limits that no request of the load reaches. */
const policies = "address: 90000/1s by ip; role: 90000/1s by role; all: 90000/1s by all on /items";

const rateLimits = { "rate-limits": policies };
const textLog = { "log-level": "info" };
const jsonLog = { "log-level": "info", "log-format": "json" };
/** The service counts requests if it has an admin server. */
const metrics = { "admin-server-host": "127.0.0.1", "admin-server-port": freePort() };
const cost = { "db-max-cost": 1_000_000 };
const timeouts = { "db-statement-timeout": "60s" };
const inProcess = { "server-max-requests": 10_000, "db-pool-queue-target": "10s" };
const all = { ...rateLimits, ...jsonLog, ...inProcess };

/** Rows whose JSON has about 100 kB. */
const pageOfItems = 1000;

const coded = (accept: string): GuardCase => ({
  name: accept,
  config: { "server-compression": "zstd, br, gzip" },
  accept,
});

/** A key that an issuer publishes, and the URL at which the service fetches it. */
const issued = await issuerKey("bench");
const claims = { sub: "user-1", jti: "1", role: userRole };
const keysPort = freePort();
const keysUrl = `http://127.0.0.1:${keysPort}/keys`;
const bySecret = await signToken(claims);

const groups: readonly GuardGroup[] = [
  {
    name: "row by key, cached token",
    request: rowByKey.request,
    cases: [
      { name: "jwt-secret", config: {}, token: bySecret },
      {
        name: "jwt-jwks-url",
        config: { "jwt-jwks-url": keysUrl },
        token: await signWith(issued, claims),
      },
      { name: "jwt-revocations", config: { "jwt-revocations": "revoked_tokens" }, token: bySecret },
      { name: "jwt-cookie-name", config: { "jwt-cookie-name": "token" }, token: bySecret },
    ],
  },
  {
    name: "row by key",
    request: rowByKey.request,
    cases: [
      { name: "defaults", config: {} },
      { name: "3 rate policies", config: rateLimits },
      { name: "text log at info", config: textLog },
      { name: "JSON log at info", config: jsonLog },
      { name: "metrics", config: metrics },
      { name: "limits of requests in progress", config: inProcess },
      { name: "statement timeout", config: timeouts },
      { name: "cost limit", config: cost },
      { name: "entity tags", config: { "etag-mode": "on" } },
      { name: "rate policies, JSON log, limits", config: all },
    ],
  },
  {
    name: `page of ${pageOfItems} rows`,
    request: { line: `GET /items?limit=${pageOfItems}&id=gt.{1..100}` },
    cases: [
      { name: "uncompressed", config: {} },
      coded("zstd"),
      coded("br"),
      coded("gzip"),
    ],
  },
];

/** Returns a table for each request that the options select. */
export async function measureGuards(bench: Bench): Promise<string> {
  const keys = { keys: [issued.publicJwk] };
  const options = { hostname: "127.0.0.1", port: keysPort, onListen: () => {} };
  await using _issuer = Deno.serve(options, () => Response.json(keys));
  await withClient(bench.postgres.uri(), (client) => client.query(revokedTokens));
  const tables: string[] = [];
  for (const group of groups) {
    const cases = group.cases.filter(({ name, config }, index) =>
      isKnown(config) && (index === 0 || isWanted(bench.options, `${group.name}, ${name}`))
    );
    if (cases.length > 1) tables.push(await measureGroup({ ...group, cases }, bench));
  }
  return tables.join("\n\n");
}

/** As many revocations as one instance may have. */
const revokedTokens = `
  create table revoked_tokens as
    select 'jti' as claim, md5(n::text) as value, null::bigint as issued_before,
      null::timestamptz as until
    from generate_series(1, 100000) n;
  grant select on revoked_tokens to authenticator`;

/** A case with its server and its runs. */
interface Entry {
  readonly each: GuardCase;
  readonly server: BenchServer;
  readonly request: LoadRequest;
  /** Bytes of the body of one response. */
  readonly bytes: number;
  readonly runs: LoadFigures[];
}

async function measureGroup(group: GuardGroup, bench: Bench): Promise<string> {
  await using servers = new AsyncDisposableStack();
  const entries: Entry[] = [];
  for (const each of group.cases) {
    progress(`Starting the service: ${each.name}...`);
    const config = { ...serverConfig(bench.postgres), "db-pool": 5, ...each.config };
    const server = servers.use(await startServer("service", ownCommand, { config }));
    const { accept = "identity", token } = each;
    const headers = {
      "Accept-Encoding": accept,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    };
    const request = { ...group.request, headers };
    const { bytes } = await exchange(server.origin, {
      line: group.request.line.replace(/\{.*?\}/, "1"),
      headers,
    });
    entries.push({ each, server, request, bytes, runs: [] });
  }
  const { seconds, rounds, connections } = bench.options;
  for (let round = -1; round < rounds; round++) {
    for (const { each, server, request, runs } of entries) {
      await untilIdle(bench);
      const { postmaster } = bench;
      const run = await measureLoad(request, { server, postmaster, connections, seconds });
      if (run.failed > 0) throw new Error(`${each.name}: ${run.failed} requests failed`);
      // The first round warms up.
      if (round >= 0) runs.push(run);
      progress(`${group.name}, ${each.name}: ${Math.round(run.perSecond)} requests/s`);
    }
  }
  return tableOf(group, entries);
}

/** Whether the service has all options of a configuration. */
function isKnown(config: FileConfig): boolean {
  return Object.keys(config).every((key) => Object.hasOwn(configOptions, key as OptionKey));
}

/** Returns the table. Its ratios are medians of those of each round, whose runs follow each other. */
function tableOf({ name }: GuardGroup, entries: readonly Entry[]): string {
  const [first] = entries;
  const rows = entries.map(({ each, bytes, runs }) => {
    const ratioOf = (field: "perSecond" | "cpu") =>
      median(runs.map((run, round) => run[field] / first!.runs[round]![field]));
    return [
      each.name,
      shown(median(runs.map(({ perSecond }) => perSecond))),
      ratioText(ratioOf("perSecond")),
      shown(median(runs.map(({ cpu }) => cpu))),
      ratioText(1 / ratioOf("cpu")),
      shown(median(runs.map(({ p99 }) => p99))),
      shown(bytes / 1000),
      ratioText(bytes / first!.bytes),
    ];
  });
  const heads = [name, "requests/s", "ratio", "CPU µs", "per core", "p99 ms", "kB", "ratio"];
  return markdownTable(heads, rows);
}

function ratioText(ratio: number): string {
  return `${ratio.toFixed(3)}×`;
}

/** Measures configurations of the service under the same load, in turn. @module */
import type { FileConfig } from "../../tests/support/server/process.ts";
import { type Bench, progress, untilIdle } from "./bench.ts";
import { exchange } from "./exchange.ts";
import { median } from "./figures.ts";
import { serverConfig } from "./fixture.ts";
import { type LoadFigures, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";
import type { LoadRequest } from "./wrk.ts";

/** A configuration that is compared with the first one of its group. */
export interface ConfigCase {
  readonly name: string;
  readonly config: FileConfig;
  /** The request of the case. Default: the request of the group. */
  readonly request?: LoadRequest;
  /** Number of `rel="next"` links to follow before the measured request. Default: 0. */
  readonly follow?: number;
  /** Headers of its requests in addition to the group's. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Value of `Accept-Encoding`. Default: `identity`. */
  readonly accept?: string;
  /** Token of each request. After the first request it is in the cache of tokens. Default: none. */
  readonly token?: string;
}

/** Cases of the same request. */
export interface ConfigGroup {
  readonly name: string;
  readonly request: LoadRequest;
  readonly cases: readonly ConfigCase[];
}

/** A case with its server and its runs. */
interface Entry {
  readonly each: ConfigCase;
  readonly server: BenchServer;
  readonly request: LoadRequest;
  /** Bytes of the body of one response. */
  readonly bytes: number;
  readonly runs: LoadFigures[];
}

/**
 * Measures the groups that the options select by name. The cases of a group run in turn. Returns a
 * table for each group, with the ratios of its cases to the first one.
 */
export async function measureGroups(
  groups: readonly ConfigGroup[],
  bench: Bench,
): Promise<string> {
  const tables: string[] = [];
  for (const group of groups) {
    const cases = group.cases.filter(({ name }, index) =>
      index === 0 || isWanted(bench.options, `${group.name}, ${name}`)
    );
    if (cases.length > 1) {
      tables.push(caseTable(group, await measureEach({ ...group, cases }, bench)));
    }
  }
  return tables.join("\n\n");
}

/** Measures the cases of a group in turn. */
async function measureEach(
  group: ConfigGroup,
  bench: Bench,
): Promise<readonly Entry[]> {
  await using servers = new AsyncDisposableStack();
  const entries: Entry[] = [];
  for (const each of group.cases) {
    progress(`Starting the service: ${each.name}...`);
    const config = { ...serverConfig(bench.postgres), "db-pool": 5, ...each.config };
    const server = servers.use(await startServer("service", ownCommand, { config }));
    const { accept = "identity", token } = each;
    const own = each.request ?? group.request;
    const line = await lineAfter(own.line, each.follow ?? 0, server);
    const headers = {
      ...own.headers,
      ...each.headers,
      "Accept-Encoding": accept,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    };
    const request = { ...own, line, headers };
    const { bytes } = await exchange(server.origin, {
      body: [new TextEncoder().encode(own.body ?? "")],
      line: line.replace(/\{.*?\}/, "1"),
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
  return entries;
}

/** Returns the request line of the page after `pages` links. */
async function lineAfter(line: string, pages: number, { origin }: BenchServer): Promise<string> {
  let target = line.slice("GET ".length);
  for (let page = 0; page < pages; page++) {
    const response = await fetch(origin + target);
    await response.body?.cancel();
    const query = /<\?([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
    if (query === undefined) throw new Error(`${target}: no page behind page ${page + 1}`);
    target = `${target.split("?")[0]}?${query}`;
  }
  return pages === 0 ? line : `GET ${target}`;
}

/** Returns the table of a group. A ratio is the median of the ratios of the rounds. */
function caseTable({ name }: ConfigGroup, entries: readonly Entry[]): string {
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
      first!.bytes === 0 ? "" : ratioText(bytes / first!.bytes),
    ];
  });
  const heads = [name, "requests/s", "ratio", "CPU µs", "per core", "p99 ms", "kB", "ratio"];
  return markdownTable(heads, rows);
}

function ratioText(ratio: number): string {
  return `${ratio.toFixed(3)}×`;
}

/** Writes the results of a benchmark, as Markdown and as JSON. @module */
import { type LoadSet, loadSets } from "./cases.ts";
import type { ContenderName, LargeStanding, LoadStanding, Standing } from "./contest.ts";
import { geometricMean } from "./figures.ts";
import type { LargeField } from "./large.ts";
import type { LoadFigures } from "./measure.ts";
import type { RunFacts } from "./run_facts.ts";
import { markdownTable, shown } from "./table.ts";

/** All figures of a benchmark. */
export interface Results {
  readonly loads: readonly LoadStanding[];
  readonly large: readonly LargeStanding[];
}

/** The tables, as Markdown. */
export function resultTables({ loads, large }: Results): string {
  return [
    loads.length === 0 ? "" : loadTable(loads),
    failureLines(loads),
    otherLoadLine(loads),
    large.length === 0 ? "" : largeTable(large),
  ].filter((part) => part !== "").join("\n\n");
}

/** Returns the results as JSON, with the conditions of the run. Figures that were not measured are null. */
export function resultJson({ loads, large }: Results, run: RunFacts | null): string {
  const comparisons = loads.map((load) => ({ set: load.set, name: load.name, ...compare(load) }));
  const results = { run, loads, large, comparisons, means: meansOfSets(loads) };
  return JSON.stringify(results, null, 2);
}

/** Returns whether no request failed. */
export function isFlawless({ loads }: Results): boolean {
  return failureLines(loads) === "";
}

function failureLines(loads: readonly LoadStanding[]): string {
  const lines = loads.flatMap(({ name, service, peer }) =>
    ([["service", service], ["peer", peer]] as const)
      .filter(([, figures]) => figures !== null && figures.failed > 0)
      .map(([server, figures]) => `${name}, ${server}: ${shown(figures!.failed)} answers failed`)
  );
  return lines.join("\n");
}

/** Share of the processors above which the load of other processes changes figures visibly. */
const maxOtherLoad = 0.05;

function otherLoadLine(loads: readonly LoadStanding[]): string {
  const shares = loads.flatMap(({ service, peer, floor }) =>
    [service, peer, floor].map((figures) => figures?.otherLoad ?? 0)
  );
  const most = Math.max(0, ...shares);
  return most <= maxOtherLoad
    ? ""
    : `other processes used up to ${Math.round(most * 100)} % of the processors: rates are too low`;
}

/** Ratios of the service to the peer and to the floor; null if one of the two was not measured. */
export interface Comparison {
  /** Requests per second, divided by the peer's. */
  readonly speed: number | null;
  /** The peer's processor time for a request, divided by the service's. */
  readonly cpu: number | null;
  /** PostgreSQL's processor time for a request of the service, divided by its time for the peer. */
  readonly postgresCpu: number | null;
  /** PostgreSQL's processor time for a request of the service, divided by its time for the floor. */
  readonly ofFloor: number | null;
  /** PostgreSQL's processor time for a request of the peer, divided by its time for the floor. */
  readonly peerOfFloor: number | null;
  /** The server with the lower 99th percentile of latency. */
  readonly lowerP99: "service" | "peer" | "neither" | null;
}

/** Compares the contenders of a case. */
export function compare(
  { service, peer, floor }: Pick<LoadStanding, ContenderName>,
): Comparison {
  return {
    speed: ratio(service?.perSecond, peer?.perSecond),
    cpu: ratio(peer?.cpu, service?.cpu),
    postgresCpu: ratio(peer?.postgresCpu, service?.postgresCpu),
    ofFloor: ratio(service?.postgresCpu, floor?.postgresCpu),
    peerOfFloor: ratio(peer?.postgresCpu, floor?.postgresCpu),
    lowerP99: lowerP99({ service, peer }),
  };
}

function ratio(one: number | undefined, other: number | undefined): number | null {
  return one === undefined || other === undefined ? null : one / other;
}

function lowerP99({ service, peer }: Pick<LoadStanding, "service" | "peer">) {
  if (service === null || peer === null) return null;
  return service.p99 === peer.p99 ? "neither" : service.p99 < peer.p99 ? "service" : "peer";
}

/** Geometric means of the ratios of some cases. */
export type Means = Readonly<
  Record<"speed" | "cpu" | "postgresCpu" | "ofFloor" | "peerOfFloor", number | null>
>;

/** Returns the means of each set that has measured cases. */
export function meansOfSets(
  loads: readonly LoadStanding[],
): Readonly<Partial<Record<LoadSet, Means>>> {
  const sets = loadSets.filter((set) => loads.some((load) => load.set === set));
  return Object.fromEntries(
    sets.map((set) => [set, meansOf(loads.filter((load) => load.set === set).map(compare))]),
  );
}

function meansOf(comparisons: readonly Comparison[]): Means {
  const mean = (field: keyof Means) => {
    const ratios = comparisons.map((each) => each[field]).filter((each) => each !== null);
    return ratios.length === 0 ? null : geometricMean(ratios);
  };
  return {
    speed: mean("speed"),
    cpu: mean("cpu"),
    postgresCpu: mean("postgresCpu"),
    ofFloor: mean("ofFloor"),
    peerOfFloor: mean("peerOfFloor"),
  };
}

/** A column of the table of cases under load. */
interface LoadColumn {
  readonly head: string;
  readonly cell: (standing: LoadStanding, comparison: Comparison) => string;
  /** Cell of the line of means. Default: empty. */
  readonly mean?: (means: Means) => string;
  /** Whether the column is empty without a peer. */
  readonly needsPeer: boolean;
}

/** Returns two columns: a figure of the service, then the same figure of the peer. */
function figureColumns(head: string, field: keyof LoadFigures): readonly LoadColumn[] {
  return [
    { head, needsPeer: false, cell: ({ service }) => shown(service?.[field] ?? null) },
    { head: "peer", needsPeer: true, cell: ({ peer }) => shown(peer?.[field] ?? null) },
  ];
}

function ratioColumn(
  head: string,
  field: keyof Means,
  { needsPeer }: Pick<LoadColumn, "needsPeer">,
): LoadColumn {
  return {
    head,
    needsPeer,
    cell: (_, comparison) => times(comparison[field]),
    mean: (means) => times(means[field]),
  };
}

const loadColumns: readonly LoadColumn[] = [
  ...figureColumns("requests/s", "perSecond"),
  ratioColumn("ratio", "speed", { needsPeer: true }),
  ...figureColumns("p50 ms", "p50"),
  ...figureColumns("p99 ms", "p99"),
  ...figureColumns("CPU µs", "cpu"),
  ratioColumn("less", "cpu", { needsPeer: true }),
  ...figureColumns("PostgreSQL CPU µs", "postgresCpu"),
  {
    head: "floor",
    needsPeer: false,
    cell: ({ floor }) => shown(floor?.postgresCpu ?? null),
  },
  ratioColumn("of floor", "ofFloor", { needsPeer: false }),
  ratioColumn("peer", "peerOfFloor", { needsPeer: true }),
  ...figureColumns("peak MB", "peakMemory"),
];

/** Returns one table of all sets. The geometric means of a set follow its cases. */
function loadTable(loads: readonly LoadStanding[]): string {
  const hasPeer = loads.some(({ peer }) => peer !== null);
  const columns = loadColumns.filter(({ needsPeer }) => hasPeer || !needsPeer);
  const rows = Object.entries(meansOfSets(loads)).flatMap(([set, means]) => [
    ...loads.filter((load) => load.set === set).map((load) => {
      const comparison = compare(load);
      return [load.name, ...columns.map(({ cell }) => cell(load, comparison))];
    }),
    [`geometric mean, ${set}`, ...columns.map(({ mean }) => mean?.(means) ?? "")],
  ]);
  return markdownTable(["case", ...columns.map(({ head }) => head)], rows);
}

const largeColumns: readonly (readonly [head: string, field: LargeField])[] = [
  ["ms", "total"],
  ["first byte ms", "firstByte"],
  ["CPU ms", "cpu"],
  ["PostgreSQL CPU ms", "postgresCpu"],
  ["growth MB", "growth"],
];

/** The lines of the peer and the floor, which follow the line of a large request. */
const underLarge: readonly (readonly [name: ContenderName, label: string])[] = [
  ["peer", "– peer"],
  ["floor", "– statement, bare connection"],
];

/** One table of the large requests. */
export function largeTable(standings: readonly LargeStanding[]): string {
  const cells = (figures: Standing<LargeField>[ContenderName]) =>
    largeColumns.map(([, field]) => shown(figures?.[field] ?? null));
  const rows = standings.flatMap((standing) => [
    [standing.name, ...cells(standing.service)],
    ...underLarge.filter(([name]) => standing[name] !== null)
      .map(([name, label]) => [label, ...cells(standing[name])]),
  ]);
  return markdownTable(["one at a time", ...largeColumns.map(([head]) => head)], rows);
}

/** `5.29×` */
export function times(ratio: number | null): string {
  return ratio === null ? "–" : `${ratio.toFixed(2)}×`;
}

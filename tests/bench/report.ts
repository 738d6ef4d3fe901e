/**
 * Says what was measured, for people and for machines.
 *
 * @module
 */
import type { ContenderName, Standing } from "./contest.ts";
import { geometricMean, median } from "./figures.ts";
import type { LargeField } from "./large.ts";
import type { LargeStanding } from "./large_contest.ts";
import type { LoadStanding } from "./load_contest.ts";
import type { LoadField } from "./measure.ts";
import { markdownTable, shown } from "./table.ts";

/** All that was measured. */
export interface Results {
  readonly loads: readonly LoadStanding[];
  readonly large: readonly LargeStanding[];
}

type Columns<Field> = readonly (readonly [head: string, field: Field])[];

const loadColumns: Columns<LoadField> = [
  ["requests/s", "perSecond"],
  ["p50 ms", "p50"],
  ["p99 ms", "p99"],
  ["CPU µs", "cpu"],
  ["PostgreSQL CPU µs", "postgresCpu"],
  ["peak MB", "peakMemory"],
  ["failed", "failed"],
];

const largeColumns: Columns<LargeField> = [
  ["ms", "total"],
  ["first byte ms", "firstByte"],
  ["CPU ms", "cpu"],
  ["PostgreSQL CPU ms", "postgresCpu"],
  ["growth MB", "growth"],
];

/** Lines under a case are those of others than the service. */
const underCase: readonly (readonly [name: ContenderName, load: string, large: string])[] = [
  ["peer", "– peer", "– peer"],
  ["floor", "– its statements without HTTP", "– its statement on a bare connection"],
];

/** What the tables say, as Markdown. */
export function resultTables({ loads, large }: Results): string {
  const comparisons = compare(loads);
  return [
    loads.length === 0 ? "" : standingTable("case", loadColumns, loads),
    floorLine(loads),
    large.length === 0 ? "" : standingTable("one at a time", largeColumns, large),
    comparisons.length === 0 ? "" : comparisonTable(comparisons),
  ].filter((part) => part !== "").join("\n\n");
}

/** The same for machines; what was not measured is null. */
export function resultJson({ loads, large }: Results): string {
  const comparisons = compare(loads);
  const means = comparisons.length === 0 ? null : meansOf(comparisons);
  return JSON.stringify({ loads, large, comparisons, means, ofFloor: shareOfFloor(loads) });
}

/** Whether all answers were what they should be. */
export function isFlawless({ loads }: Results): boolean {
  return loads.every(({ service, peer }) => service?.failed === 0 && (peer?.failed ?? 0) === 0);
}

function standingTable<Field extends string>(
  head: string,
  columns: Columns<Field>,
  standings: readonly (Standing<Field> & { readonly name: string })[],
): string {
  const rows = standings.flatMap((standing) => [
    [standing.name, ...cells(columns, standing.service)],
    ...underCase.filter(([name]) => standing[name] !== null).map(([name, load, large]) => [
      head === "case" ? load : large,
      ...cells(columns, standing[name]),
    ]),
  ]);
  return markdownTable([head, ...columns.map(([text]) => text)], rows);
}

function cells<Field extends string>(
  columns: Columns<Field>,
  figures: Readonly<Record<Field, number>> | null,
): readonly string[] {
  return columns.map(([, field]) => shown(figures?.[field] ?? null));
}

/** Requests per second as a share of what the database alone allows; null if it was not measured. */
export function shareOfFloor(loads: readonly LoadStanding[]): number | null {
  const measured = loads.find(({ floor }) => floor !== null);
  if (!measured?.service || !measured.floor) return null;
  return measured.service.perSecond / measured.floor.perSecond;
}

function floorLine(loads: readonly LoadStanding[]): string {
  const share = shareOfFloor(loads);
  const name = loads.find(({ floor }) => floor !== null)?.name;
  return share === null
    ? ""
    : `${name}: ${Math.round(share * 100)} % of its statements without HTTP`;
}

/** How the service compares with the peer; above 1 is better for the service. */
export interface Comparison {
  readonly name: string;
  /** Requests per second, by the peer's. */
  readonly speed: number;
  /** The peer's processor time for a request, by the service's. */
  readonly cpu: number;
  /** Whose slowest hundredth is the faster one. */
  readonly lowerP99: "service" | "peer" | "neither";
}

/** Compares the cases that have a peer. */
export function compare(
  loads: readonly Pick<LoadStanding, "name" | "service" | "peer">[],
): readonly Comparison[] {
  return loads.flatMap(({ name, service, peer }) =>
    service === null || peer === null ? [] : [{
      name,
      speed: service.perSecond / peer.perSecond,
      cpu: peer.cpu / service.cpu,
      lowerP99: lower(service.p99, peer.p99),
    }]
  );
}

function lower(service: number, peer: number): Comparison["lowerP99"] {
  return service === peer ? "neither" : service < peer ? "service" : "peer";
}

/** A number for the ratios of all cases. */
type Ratios = Readonly<Record<"speed" | "cpu", number>>;

/** Geometric means of the ratios. */
export function meansOf(comparisons: readonly Comparison[]): Ratios {
  return overall(comparisons, geometricMean);
}

function overall(
  comparisons: readonly Comparison[],
  combine: (ratios: readonly number[]) => number,
): Ratios {
  return {
    speed: combine(comparisons.map(({ speed }) => speed)),
    cpu: combine(comparisons.map(({ cpu }) => cpu)),
  };
}

function comparisonTable(comparisons: readonly Comparison[]): string {
  // One case that differs much moves the mean, but not the median.
  const [mean, middle] = [meansOf(comparisons), overall(comparisons, median)];
  return markdownTable(["service against peer", "requests/s", "less CPU", "lower p99"], [
    ...comparisons.map(({ name, speed, cpu, lowerP99 }) => [
      name,
      times(speed),
      times(cpu),
      lowerP99,
    ]),
    ["geometric mean", times(mean.speed), times(mean.cpu), ""],
    ["median", times(middle.speed), times(middle.cpu), ""],
  ]);
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

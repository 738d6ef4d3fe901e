/** What a fault did to the requests of a load, in numbers. @module */

/** `short` belongs to every run of the tests, `full` to `deno task faults`. */
export type Scale = "short" | "full";

/** One fault's outcome. */
export interface FaultReport {
  /** What was done to the service, in a few words. */
  readonly fault: string;
  readonly requests: RequestCounts;
  /** Null when nothing is written. */
  readonly writes: WriteCounts | null;
  /** Other figures by their names, as they are shown. */
  readonly figures: Readonly<Record<string, string>>;
  /** What should not have happened; empty when everything held. */
  readonly problems: readonly string[];
}

/** Requests by what became of them. */
export interface RequestCounts {
  readonly sent: number;
  readonly answered: number;
  /** Answers by status, and code of the error if there is one: `200`, `503 SVC001`. */
  readonly byStatus: Readonly<Record<string, number>>;
}

/** Rows that were to be written, by what was said of them and what is there. */
export interface WriteCounts {
  /** Answered with success. */
  readonly acknowledged: number;
  /** Of them, those that are not there. */
  readonly lost: number;
  /** Rows that are there more than once. */
  readonly doubled: number;
  /** Answered with an error that says that nothing was changed. */
  readonly refused: number;
  /** Of them, those that are there all the same. */
  readonly undead: number;
  /** The connection broke while the outcome was on its way. */
  readonly uncertain: number;
  /** Of them, those that are there. */
  readonly uncertainFound: number;
}

/** A fault: puts up its own database and service, and takes them down again. */
export type Fault = (scale: Scale) => Promise<FaultReport>;

/** Adds two loads up. */
export function addRequests(a: RequestCounts, b: RequestCounts): RequestCounts {
  const byStatus: Record<string, number> = { ...a.byStatus };
  for (const [status, count] of Object.entries(b.byStatus)) {
    byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  return { sent: a.sent + b.sent, answered: a.answered + b.answered, byStatus };
}

/** What must be zero of the writes, as problems. */
export function writeProblems({ lost, doubled, undead }: WriteCounts): readonly string[] {
  return Object.entries({ lost, doubled, "refused but written": undead })
    .filter(([, rows]) => rows > 0)
    .map(([what, rows]) => `${rows} rows ${what}`);
}

/** Requests in a few words: `120 sent, 120 answered (100 × 200, 20 × 503 SVC000)`. */
export function describeRequests({ sent, answered, byStatus }: RequestCounts): string {
  const statuses = Object.entries(byStatus).toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([status, count]) => `${count} × ${status}`);
  return `${sent} sent, ${answered} answered (${statuses.join(", ")})`;
}

/** Writes in a few words. */
export function describeWrites(counts: WriteCounts): string {
  const { acknowledged, lost, doubled, refused, undead, uncertain, uncertainFound } = counts;
  return [
    `${acknowledged} rows acknowledged`,
    `${lost} lost`,
    `${doubled} doubled`,
    `${refused} refused`,
    `${undead} of them written`,
    `${uncertain} uncertain`,
    `${uncertainFound} of them written`,
  ].join(", ");
}

/** A report in one line. */
export function describeReport(report: FaultReport): string {
  const { fault, requests, writes, problems } = report;
  const figures = Object.entries(report.figures).map(([name, value]) => `${name} ${value}`);
  const parts = [
    describeRequests(requests),
    ...(writes === null ? [] : [describeWrites(writes)]),
    ...figures,
    problems.length === 0 ? "nothing broken" : `PROBLEMS: ${problems.join("; ")}`,
  ];
  return `${fault}: ${parts.join("; ")}`;
}

/** Measures the service with several numbers of threads under the same load, in turn. @module */
import type { Bench } from "./bench.ts";
import { caseTable, type ConfigGroup, type MeasuredCase, measureEach } from "./config_contest.ts";
import { median } from "./figures.ts";
import { rowByKey } from "./cases.ts";
import { fitModel, type MeasuredPoint, modelErrors } from "./scalability.ts";

/** Connections to PostgreSQL for each thread. All numbers of threads have as many in all. */
const connectionsPerThread = 4;

/** Returns a table of the numbers of threads, and what it says about others. */
export async function measureWorkers(numbers: readonly number[], bench: Bench): Promise<string> {
  const pool = connectionsPerThread * Math.max(...numbers);
  const group: ConfigGroup = {
    name: "row by key",
    request: rowByKey.request,
    cases: numbers.map((workers) => ({
      name: `server-workers = ${workers}`,
      config: { "server-workers": workers, "db-pool": pool },
    })),
  };
  const measured = await measureEach(group, bench);
  const points = measured.map(({ runs }, index) => ({
    threads: numbers[index]!,
    rate: median(runs.map(({ perSecond }) => perSecond)),
  }));
  return [
    caseTable(group, measured),
    `${navigator.hardwareConcurrency} processors for the service, PostgreSQL and the load.`,
    ...expectedRatios(numbers, measured),
    ...fitLines(points),
    `deno task capacity --measured ${
      points.map(({ threads, rate }) => `${threads}:${Math.round(rate)}`).join(",")
    }`,
  ].join("\n");
}

/**
 * Returns the ratio of each number of threads to the first, if each thread had a processor of its own: by
 * processor time per request.
 */
function expectedRatios(
  numbers: readonly number[],
  measured: readonly MeasuredCase[],
): readonly string[] {
  const timeOf = ({ runs }: MeasuredCase) => median(runs.map(({ cpu }) => cpu));
  const [first, ...others] = measured;
  return others.map((each, index) => {
    const threads = numbers[index + 1]! / numbers[0]!;
    const ratio = threads * timeOf(first!) / timeOf(each);
    return `Model of ${each.each.name} with a processor for each thread, by processor time: ` +
      `${ratio.toFixed(2)}×.`;
  });
}

/** Returns the fit of the Universal Scalability Law, which needs three numbers of threads. */
function fitLines(points: readonly MeasuredPoint[]): readonly string[] {
  if (new Set(points.map(({ threads }) => threads)).size < 3) return [];
  const model = fitModel(points);
  const worst = Math.max(...modelErrors(model, points).map(Math.abs));
  return [
    `Fit: ${Math.round(model.rate)} requests/s by one thread, contention ` +
    `${model.sigma.toFixed(4)}, coherency ${model.kappa.toFixed(5)}; largest error ` +
    `${(worst * 100).toFixed(1)} %.`,
  ];
}

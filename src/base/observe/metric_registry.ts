/** Counters and gauges that parts of the service register, in the text format of Prometheus (Prometheus
 * documentation, "Exposition formats"). @module */
import { getOrMake } from "../lib/group_by.ts";

export interface MetricDescription {
  /** Name without the prefix of the service: `requests_shed_total`. */
  readonly name: string;
  /** Text without a line feed or a backslash. */
  readonly help: string;
  /** Names of the labels. Default: none. */
  readonly labels?: readonly string[];
}

/** The value of a series, and the values of its labels. */
export type Sample = readonly [labelValues: readonly string[], value: number];

/** Maximum number of label sets of one counter, to limit memory. Further sets are counted as
 * {@linkcode otherLabel}. */
const maxSeries = 1000;

/** Label value of the series that counts events beyond {@linkcode maxSeries}. */
export const otherLabel = "_other";

/** The metrics of one service by name, in the order of registration. */
export class MetricRegistry {
  readonly #counters = new Map<string, Counter>();
  /** The text of each metric, by its name without the prefix. */
  readonly #texts = new Map<string, (prefix: string) => string>();

  /** Returns the counter of this name. Registers it at the first call. */
  counter(description: MetricDescription): Counter {
    return getOrMake(this.#counters, description.name, () => {
      const counter = new Counter(description);
      this.#add(description, "counter", () => counter.samples());
      return counter;
    });
  }

  /** Registers a gauge, or replaces the one of this name. `read` returns its current samples. */
  gauge(description: MetricDescription, read: () => Iterable<Sample>): void {
    this.#add(description, "gauge", read);
  }

  /** Registers a counter whose value is stored elsewhere; `read` returns its current samples. */
  observedCounter(description: MetricDescription, read: () => Iterable<Sample>): void {
    this.#add(description, "counter", read);
  }

  /** Registers a histogram, or replaces the one of this name. `read` returns it, or null. */
  histogram(name: string, read: () => Pick<Histogram, "text"> | null): void {
    this.#texts.set(name, (prefix) => read()?.text(`${prefix}_${name}`) ?? "");
  }

  /** Returns all metrics. Their names begin with `prefix` and an underscore. */
  text(prefix: string): string {
    return Array.from(this.#texts.values(), (text) => text(prefix)).join("");
  }

  #add(
    description: MetricDescription,
    type: "counter" | "gauge",
    read: () => Iterable<Sample>,
  ): void {
    const { name } = description;
    this.#texts.set(
      name,
      (prefix) => metricText({ ...description, name: `${prefix}_${name}` }, type, read()),
    );
  }
}

/** A count for each set of label values. */
export class Counter {
  readonly #hasLabels: boolean;
  readonly #series = new Map<string, { readonly labelValues: readonly string[]; events: number }>();

  constructor({ labels = [] }: MetricDescription) {
    this.#hasLabels = labels.length > 0;
  }

  /** Increments the counter by one. There is one value per label, in the order of the
   * description. */
  increment(...labelValues: readonly string[]): void {
    this.add(1, ...labelValues);
  }

  add(events: number, ...labelValues: readonly string[]): void {
    const key = labelValues.join("\0");
    const series = this.#series.get(key);
    if (series !== undefined) series.events += events;
    else if (this.#series.size < maxSeries || labelValues.every((value) => value === otherLabel)) {
      this.#series.set(key, { labelValues, events });
    } else this.add(events, ...labelValues.map(() => otherLabel));
  }

  /**
   * Returns the value of each series. A counter without labels has its one series from the start.
   */
  samples(): readonly Sample[] {
    if (!this.#hasLabels && this.#series.size === 0) return [[[], 0]];
    return Array.from(this.#series.values(), ({ labelValues, events }) => [labelValues, events]);
  }
}

/** Returns the lines of one metric. `description.name` is the whole name. */
export function metricText(
  { name, help, labels = [] }: MetricDescription,
  type: "counter" | "gauge",
  samples: Iterable<Sample>,
): string {
  const lines = Array.from(
    samples,
    ([values, value]) => `${name}${labelText(labels, values)} ${decimal(value)}\n`,
  );
  return headText({ name, help }, type) + lines.join("");
}

/** Returns the two lines before the samples of a metric. */
export function headText(
  { name, help }: Pick<MetricDescription, "name" | "help">,
  type: "counter" | "gauge" | "histogram",
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** Returns labels in braces; an empty text without labels. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${names.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",")}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => character === "\n" ? "\\n" : `\\${character}`);
}

/** Formats a number with a decimal point: `1.0`. */
export function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** One metric: its first two lines, and its series by name and labels. */
interface Family {
  readonly head: string;
  readonly type: string;
  readonly series: Map<string, number>;
}

/** Returns the sum of metrics from several threads. Counters and histograms are added. Of gauges
 * the highest value is used, since they are states, times and ages. */
export function sumOfMetrics(texts: readonly string[]): string {
  const sum = new Map<string, Family>();
  for (const text of texts) {
    for (const [name, { head, type, series }] of familiesOf(text)) {
      const sums = getOrMake(sum, name, () => ({ head, type, series: new Map() })).series;
      const isHighest = type === "gauge" && /_(?:info|seconds|up)$/.test(name);
      for (const [key, value] of series) {
        const sum = sums.get(key) ?? (isHighest ? -Infinity : 0);
        sums.set(key, isHighest ? Math.max(sum, value) : sum + value);
      }
    }
  }
  return textOf(sum);
}

/** Reads a text in which each metric has a line of help, a line of its type, and its series. */
function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let series = new Map<string, number>();
  let help = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) help = line;
    else if (line.startsWith("# TYPE ")) {
      const [, , name = "", type = ""] = line.split(" ");
      series = new Map();
      families.set(name, { head: `${help}\n${line}\n`, type, series });
    } else if (line !== "") {
      const end = line.lastIndexOf(" ");
      series.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }
  return families;
}

function textOf(families: ReadonlyMap<string, Family>): string {
  return Array.from(
    families.values(),
    ({ head, series }) =>
      head + Array.from(series, ([key, value]) => `${key} ${decimal(value)}\n`).join(""),
  ).join("");
}

interface HistogramDescription extends Omit<MetricDescription, "name"> {
  /** Upper bounds of the buckets, ascending. A last bucket without a bound follows. */
  readonly bounds: readonly number[];
}

interface HistogramSeries {
  readonly labelValues: readonly string[];
  /** Number of values in each bucket. */
  readonly counts: number[];
  sum: number;
}

/** Adds values to buckets, per series. A series is a set of label values. */
export class Histogram {
  readonly #description: HistogramDescription;
  readonly #series = new Map<string, HistogramSeries>();

  /** A histogram without labels has its one series from the beginning. */
  constructor(description: HistogramDescription) {
    this.#description = description;
    if (description.labels === undefined) this.#seriesOf([]);
  }

  get size(): number {
    return this.#series.size;
  }

  has(labelValues: readonly string[]): boolean {
    return this.#series.has(labelValues.join("\0"));
  }

  record(value: number, labelValues: readonly string[] = []): void {
    const { bounds } = this.#description;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    const series = this.#seriesOf(labelValues);
    series.counts[bucket] = series.counts[bucket]! + 1;
    series.sum += value;
  }

  #seriesOf(labelValues: readonly string[]): HistogramSeries {
    return getOrMake(this.#series, labelValues.join("\0"), () => {
      const counts = new Array<number>(this.#description.bounds.length + 1).fill(0);
      return { labelValues, counts, sum: 0 };
    });
  }

  /** Returns the lines of all series. `name` is the whole name. */
  text(name: string): string {
    const { help } = this.#description;
    const series = Array.from(this.#series.values(), (each) => this.#seriesText(name, each));
    return headText({ name, help }, "histogram") + series.join("");
  }

  #seriesText(name: string, { labelValues, counts, sum }: HistogramSeries): string {
    const { bounds, labels = [] } = this.#description;
    let count = 0;
    const buckets = counts.map((values, bucket) => {
      count += values;
      const bound = bucket < bounds.length ? decimal(bounds[bucket]!) : "+Inf";
      const inBraces = labelText([...labels, "le"], [...labelValues, bound]);
      return `${name}_bucket${inBraces} ${decimal(count)}\n`;
    });
    const inBraces = labelText(labels, labelValues);
    return buckets.join("") +
      `${name}_sum${inBraces} ${decimal(sum)}\n${name}_count${inBraces} ${decimal(count)}\n`;
  }
}

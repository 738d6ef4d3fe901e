/**
 * Counters and gauges that parts of the service register, in the text format of Prometheus.
 *
 * Source: Prometheus documentation, "Exposition formats", text-based format.
 *
 * @module
 */

/** Describes a metric. */
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

/** Label sets of one counter. Further ones count as {@linkcode otherLabel}, to bound the memory. */
const maxSeries = 1000;

/** Value of all labels of the series that counts what exceeds a bound. */
export const otherLabel = "_other";

/** The metrics of one service by name, in the order of registration. */
export class MetricRegistry {
  readonly #counters = new Map<string, Counter>();
  readonly #observed = new Map<string, ObservedMetric>();

  /** Returns the counter of this name. Registers it at the first call. */
  counter(description: MetricDescription): Counter {
    let counter = this.#counters.get(description.name);
    if (counter === undefined) {
      this.#counters.set(description.name, counter = new Counter(description));
    }
    return counter;
  }

  /** Registers a gauge, or replaces the one of this name. `read` returns its current samples. */
  gauge(description: MetricDescription, read: () => Iterable<Sample>): void {
    this.#observed.set(description.name, { type: "gauge", description, read });
  }

  /** Registers a counter that another part of the service counts; `read` returns its current samples. */
  observedCounter(description: MetricDescription, read: () => Iterable<Sample>): void {
    this.#observed.set(description.name, { type: "counter", description, read });
  }

  /** Returns all metrics. Their names begin with `prefix` and an underscore. */
  text(prefix: string): string {
    const full = ({ name, ...others }: MetricDescription) => ({
      ...others,
      name: `${prefix}_${name}`,
    });
    const counters = Array.from(
      this.#counters.values(),
      (counter) => metricText(full(counter.description), "counter", counter.samples()),
    );
    const observed = Array.from(
      this.#observed.values(),
      ({ type, description, read }) => metricText(full(description), type, read()),
    );
    return [...counters, ...observed].join("");
  }
}

/** A metric whose values are read when they are shown. */
interface ObservedMetric {
  readonly type: "counter" | "gauge";
  readonly description: MetricDescription;
  readonly read: () => Iterable<Sample>;
}

/** A count for each set of label values. */
export class Counter {
  readonly description: MetricDescription;
  readonly #slots = new Map<string, number>();
  readonly #labelValues: (readonly string[])[] = [];
  #counts = new Float64Array(8);

  constructor(description: MetricDescription) {
    this.description = description;
  }

  /** Counts one event. There is one value per label, in the order of the description. */
  increment(...labelValues: readonly string[]): void {
    this.add(1, ...labelValues);
  }

  /** Counts several events. */
  add(events: number, ...labelValues: readonly string[]): void {
    const key = labelValues.length === 1 ? labelValues[0]! : labelValues.join("\0");
    const slot = this.#slots.get(key) ?? this.#addSlot(key, labelValues);
    this.#counts[slot] = this.#counts[slot]! + events;
  }

  /** Returns the counts. Without labels there is one, also before the first event. */
  samples(): readonly Sample[] {
    const hasLabels = (this.description.labels ?? []).length > 0;
    if (!hasLabels && this.#labelValues.length === 0) return [[[], 0]];
    return this.#labelValues.map((values, slot) => [values, this.#counts[slot]!]);
  }

  #addSlot(key: string, labelValues: readonly string[]): number {
    const slot = this.#labelValues.length;
    if (slot >= maxSeries) {
      const others = labelValues.map(() => otherLabel);
      const otherKey = others.join("\0");
      const found = this.#slots.get(otherKey);
      if (found !== undefined) return found;
      return this.#insert(otherKey, others, slot);
    }
    return this.#insert(key, labelValues, slot);
  }

  #insert(key: string, labelValues: readonly string[], slot: number): number {
    this.#slots.set(key, slot);
    this.#labelValues.push(labelValues);
    if (slot === this.#counts.length) {
      const grown = new Float64Array(slot * 2);
      grown.set(this.#counts);
      this.#counts = grown;
    }
    return slot;
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
  return value.replace(/[\\"\n]/g, (found) => found === "\n" ? "\\n" : `\\${found}`);
}

/** Formats a number with a decimal point: `1.0`. */
export function decimal(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

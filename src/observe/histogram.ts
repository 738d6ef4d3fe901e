/** Histograms in the text format of Prometheus. @module */
import { decimal, headText, labelText, type MetricDescription } from "./metric_registry.ts";

interface HistogramDescription extends Omit<MetricDescription, "name"> {
  /** Upper bounds of the buckets, ascending. A last bucket without a bound follows. */
  readonly bounds: readonly number[];
}

/**
 * Counts values in buckets, per series. A series is a set of label values. All counts are in one typed
 * array, so that recording a value allocates nothing.
 */
export class Histogram {
  readonly #description: HistogramDescription;
  /** Slots per series: one per bucket, and the sum of the values. */
  readonly #width: number;
  readonly #labelValues: (readonly string[])[] = [];
  #slots: Float64Array;

  /** A histogram without labels has its one series, 0, from the beginning. */
  constructor(description: HistogramDescription) {
    this.#description = description;
    this.#width = description.bounds.length + 2;
    this.#slots = new Float64Array(this.#width);
    if (description.labels === undefined) this.addSeries([]);
  }

  get size(): number {
    return this.#labelValues.length;
  }

  /** Adds a series, and returns its position. */
  addSeries(labelValues: readonly string[]): number {
    const series = this.#labelValues.push(labelValues) - 1;
    if ((series + 1) * this.#width > this.#slots.length) {
      const grown = new Float64Array(this.#slots.length * 2);
      grown.set(this.#slots);
      this.#slots = grown;
    }
    return series;
  }

  record(value: number, series = 0): void {
    const { bounds } = this.#description;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    const first = series * this.#width;
    const sum = first + bounds.length + 1;
    this.#slots[first + bucket] = this.#slots[first + bucket]! + 1;
    this.#slots[sum] = this.#slots[sum]! + value;
  }

  /** Returns the lines of all series. `name` is the whole name. */
  text(name: string): string {
    const { help } = this.#description;
    const series = this.#labelValues.map((values, index) => this.#seriesText(name, values, index));
    return headText({ name, help }, "histogram") + series.join("");
  }

  #seriesText(name: string, labelValues: readonly string[], series: number): string {
    const { bounds, labels = [] } = this.#description;
    const first = series * this.#width;
    const lines: string[] = [];
    let count = 0;
    for (let bucket = 0; bucket <= bounds.length; bucket++) {
      count += this.#slots[first + bucket]!;
      const bound = bucket < bounds.length ? decimal(bounds[bucket]!) : "+Inf";
      const inBraces = labelText([...labels, "le"], [...labelValues, bound]);
      lines.push(`${name}_bucket${inBraces} ${decimal(count)}\n`);
    }
    const inBraces = labelText(labels, labelValues);
    const sum = this.#slots[first + bounds.length + 1]!;
    lines.push(`${name}_sum${inBraces} ${decimal(sum)}\n`);
    lines.push(`${name}_count${inBraces} ${decimal(count)}\n`);
    return lines.join("");
  }
}

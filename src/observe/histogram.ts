/** Histograms in the text format of Prometheus. @module */
import { decimal, headText, labelText, type MetricDescription } from "./metric_registry.ts";

interface HistogramDescription extends Omit<MetricDescription, "name"> {
  /** Upper bounds of the buckets, ascending. A last bucket without a bound follows. */
  readonly bounds: readonly number[];
}

interface HistogramSeries {
  readonly labelValues: readonly string[];
  /** One per bucket. */
  readonly counts: number[];
  sum: number;
}

/** Counts values in buckets, per series. A series is a set of label values. */
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
    const key = labelValues.join("\0");
    let series = this.#series.get(key);
    if (series === undefined) {
      const counts = new Array<number>(this.#description.bounds.length + 1).fill(0);
      this.#series.set(key, series = { labelValues, counts, sum: 0 });
    }
    return series;
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

/**
 * Adds up the metrics of several threads, in the text format of Prometheus.
 *
 * Source: Prometheus documentation, "Exposition formats", text-based format.
 *
 * @module
 */
import { decimal } from "./metric_registry.ts";

/** One metric: its first two lines, and its series by name and labels. */
interface Family {
  readonly head: string;
  readonly type: string;
  readonly series: Map<string, number>;
}

/**
 * Returns the metrics of all texts. Counters and histograms add up exactly, since each text has all digits
 * of a value. Of gauges that are facts, times or ages, the highest counts; other gauges add up.
 */
export function sumOfMetrics(texts: readonly string[]): string {
  const sum = new Map<string, Family>();
  for (const text of texts) {
    for (const [name, { head, type, series }] of familiesOf(text)) {
      const known = sum.get(name);
      if (known === undefined) sum.set(name, { head, type, series });
      else addSeries(known.series, series, isHighest(name, type));
    }
  }
  return textOf(sum);
}

/** Returns the metrics that outlive their thread: counters and histograms. */
export function withoutGauges(text: string): string {
  return textOf(new Map(Array.from(familiesOf(text)).filter(([, { type }]) => type !== "gauge")));
}

function isHighest(name: string, type: string): "highest" | "sum" {
  return type === "gauge" && /_(?:info|seconds|up)$/.test(name) ? "highest" : "sum";
}

function addSeries(
  sums: Map<string, number>,
  series: ReadonlyMap<string, number>,
  rule: "highest" | "sum",
): void {
  for (const [key, value] of series) {
    const known = sums.get(key);
    if (known === undefined) sums.set(key, value);
    else sums.set(key, rule === "sum" ? known + value : Math.max(known, value));
  }
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

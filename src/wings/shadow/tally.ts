/** Groups reads by their shape, and writes the report. @module */
import type { AnswerDifferences } from "./compare.ts";
import { isSecretName, type ReadLine, shapeOf, shownTarget, shownText } from "./shape.ts";
import { percentile } from "../../base/lib/percentile.ts";

/** Maximum number of shapes that are counted separately. Reads of further shapes are counted together. */
const maxShapes = 1000;
/** Number of the newest comparisons from which percentiles are computed. */
const maxDurations = 10_000;
/** Maximum number of differences that an example shows. */
const maxShown = 5;

interface ShapeCount {
  compared: number;
  differing: number;
  /** Lines about the first response that differs. */
  example: readonly string[];
}

type DurationPair = readonly [upstream: number, own: number];

export class Tally {
  /** All requests, writes included. */
  requests = 0;
  /** Reads without a comparison. */
  notCompared = 0;
  compared = 0;
  readonly #shapes = new Map<string, ShapeCount>();
  readonly #durations: DurationPair[] = [];

  /** Adds a comparison of responses that took `durations`, in milliseconds. */
  add(read: ReadLine, differences: AnswerDifferences, durations: DurationPair): void {
    this.#durations[this.compared++ % maxDurations] = durations;
    let shape = shapeOf(read);
    if (!this.#shapes.has(shape) && this.#shapes.size >= maxShapes) shape = "other shapes";
    const count = this.#shapes.get(shape) ?? { compared: 0, differing: 0, example: [] };
    this.#shapes.set(shape, count);
    count.compared++;
    if (differences.size > 0 && ++count.differing === 1) {
      count.example = exampleOf(read, differences);
    }
  }

  /** The shapes with differences, most frequent first. */
  get differing(): readonly (readonly [shape: string, count: ShapeCount])[] {
    return Array.from(this.#shapes).filter(([, { differing }]) => differing > 0)
      .sort(([, one], [, other]) => other.differing - one.differing);
  }

  /** Returns a summary: `Your 41,208 requests: 3 shapes differ`. */
  line(): string {
    const { length } = this.differing;
    const verb = length === 1 ? "1 shape differs" : `${length || "no"} shapes differ`;
    return `Your ${countText(this.requests)} requests: ${verb}`;
  }

  report(): string {
    const others = this.requests - this.compared - this.notCompared;
    const blocks = this.differing.map(([shape, { compared, differing, example }]) =>
      `\n${shape}\n  ${countText(differing)} of ${countText(compared)} differ, such as\n` +
      example.map((line) => `  ${line}\n`).join("")
    );
    return `${this.line()}\n  ${countText(this.compared)} reads compared, ` +
      `${countText(this.notCompared)} not compared, ${countText(others)} other requests\n` +
      `  upstream: ${this.#timeText(0)}\n  svc: ${this.#timeText(1)}\n${blocks.join("")}`;
  }

  #timeText(side: 0 | 1): string {
    const sorted = this.#durations.map((pair) => pair[side]).sort((one, other) => one - other);
    return `p50 ${percentile(sorted, 0.5) ?? "-"} ms, p99 ${percentile(sorted, 0.99) ?? "-"} ms`;
  }
}

function exampleOf({ method, target }: ReadLine, differences: AnswerDifferences): string[] {
  // If the name of a function looks secret, values are hidden: a result without a name may be a secret.
  const isSecret = isSecretName(target.split("?")[0]!);
  const lines = Array.from(
    differences,
    ([place, [upstream, svc]]) =>
      `  ${shownText(place)}${isSecret ? "" : `: upstream ${upstream}, svc ${svc}`}`,
  );
  return [`${method} ${shownTarget(target)}`, ...lines.slice(0, maxShown)];
}

function countText(count: number): string {
  return count.toLocaleString("en");
}

/** Runs contenders in turn, so that what slows the machine down slows all of them. @module */
import { summarize } from "./figures.ts";

/** Who is measured. */
export type ContenderName = "service" | "peer" | "floor";

/** One of those that are compared. */
export interface Contender<Field extends string> {
  readonly name: ContenderName;
  /** Runs once and gives figures of it. */
  run(seconds: number): Promise<Readonly<Record<Field, number>>>;
}

/** How often, and how long. */
export interface Rounds<Field extends string> {
  readonly rounds: number;
  readonly seconds: number;
  /** Seconds of a run before the measured ones; null for none. */
  readonly warmUp: number | null;
  /** Fields of which the highest run counts, in place of the median. */
  readonly highest: readonly NoInfer<Field>[];
  /** Prepares a run. */
  readonly before: () => Promise<void>;
  /** Is told of every measured run. */
  readonly progress: (name: ContenderName, run: Readonly<Record<Field, number>>) => void;
}

/** Figures of each contender's runs together; null for who does not take part. */
export type Standing<Field extends string> = Readonly<
  Record<ContenderName, Readonly<Record<Field, number>> | null>
>;

/** Runs all contenders once to warm up, and then round by round. */
export async function contest<Field extends string>(
  contenders: readonly Contender<Field>[],
  { rounds, seconds, warmUp, highest, before, progress }: Rounds<Field>,
): Promise<Standing<Field>> {
  const runs = { service: [], peer: [], floor: [] } as Record<
    ContenderName,
    Readonly<Record<Field, number>>[]
  >;
  for (const { run } of warmUp === null ? [] : contenders) {
    await before();
    await run(warmUp!);
  }
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of contenders) {
      await before();
      const figures = await run(seconds);
      runs[name].push(figures);
      progress(name, figures);
    }
  }
  const summary = (name: ContenderName) =>
    runs[name].length === 0 ? null : summarize(runs[name], highest);
  return { service: summary("service"), peer: summary("peer"), floor: summary("floor") };
}

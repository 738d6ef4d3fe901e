/** Divides the limits of a process among its workers. @module */
import { type Config, rowsOf, valueOf } from "../../../state/config/options.ts";
import { camelCase } from "../../../state/config/names.ts";
import { wingOptions } from "../../wings.ts";

export interface PartOfProcess {
  /** Number of the worker, from 1. */
  readonly number: number;
  readonly workers: number;
}

/** Returns a worker's share of a number, at least 1. The shares add up to the number. 0, which
 * means no limit, is unchanged. */
export function shareOf(total: number, { number, workers }: PartOfProcess): number {
  if (total === 0) return 0;
  const rest = number <= total % workers ? 1 : 0;
  return Math.max(1, Math.floor(total / workers) + rest);
}

/** Returns the configuration of a worker, with its share of the limits. */
export function sharedConfig(sent: Omit<Config, "wingOptions">, part: PartOfProcess): Config {
  const config = { ...sent, wingOptions } as Config;
  const parts = rowsOf(config).flatMap(([key, { isShared }]) => {
    const total = isShared ? valueOf(config, key) : null;
    return typeof total === "number" ? [[camelCase(key), shareOf(total, part)]] : [];
  });
  return { ...config, ...Object.fromEntries(parts) };
}

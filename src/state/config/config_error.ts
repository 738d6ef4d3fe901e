/** The error of a configuration: one line with the place, the key, the problem and the expected
 * value. @module */

/** The place of a value, or the place at which a required value is missing. */
export type ConfigOrigin =
  | { readonly kind: "file"; readonly path: string; readonly line: number }
  | { readonly kind: "environment"; readonly name: string }
  /** A flag, by its name without the value. */
  | { readonly kind: "command line"; readonly name: string }
  /** A setting in the database, by its full name. */
  | { readonly kind: "database"; readonly name: string };

/** A problem of a key; `key` is null if the line has no readable key. */
export interface ConfigProblem {
  readonly origin: ConfigOrigin;
  readonly key: string | null;
  readonly problem: string;
}

/**
 * Reports an invalid configuration. The message is one line and omits secrets:
 *
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 *
 * const { message } = new ConfigError({
 *   origin: { kind: "file", path: "svc.conf", line: 4 },
 *   key: "db-pool",
 *   problem: 'expected a whole number, got "ten"',
 * });
 * strictEqual(message, 'svc.conf:4: db-pool: expected a whole number, got "ten"');
 * ```
 */
export class ConfigError extends Error {
  readonly key: string | null;
  readonly origin: ConfigOrigin;
  /** The combined errors in the order of {@linkcode combineProblems}; only this error if it combines none. */
  readonly problems: readonly ConfigError[];

  constructor(
    { origin, key, problem }: ConfigProblem,
    message = oneLine(`${where(origin, key)}: ${problem}`),
    problems?: readonly ConfigError[],
  ) {
    super(message);
    this.name = "ConfigError";
    this.key = key;
    this.origin = origin;
    this.problems = problems ?? [this];
  }
}

/** Reports a required option without a value. `example` is a valid value, as text of the file. */
export class MissingOptionError extends ConfigError {
  constructor(
    { origin, key, problem, example }: ConfigProblem & { readonly example: string },
  ) {
    super({ origin, key, problem }, `${problem}: ${key}, for example ${key} = ${example}`);
  }
}

/**
 * Combines errors into one with a line for each: errors of the file by line, then of the command
 * line and the environment, then missing options. Expects at least one.
 */
export function combineProblems(problems: readonly ConfigError[]): ConfigError {
  // Two options have the same error if one is the default of the other. It is listed once.
  const distinct = new Map(problems.map((error) => [error.message, error]));
  const sorted = Array.from(distinct.values()).sort((one, other) => rank(one) - rank(other));
  const [first] = sorted;
  if (first === undefined || sorted.length === 1) return problems[0]!;
  const message = sorted.map((error) => error.message).join("\n");
  return new ConfigError({ ...first, problem: "" }, message, sorted);
}

function rank(error: ConfigError): number {
  if (error instanceof MissingOptionError) return Infinity;
  return error.origin.kind === "file" ? error.origin.line : Number.MAX_SAFE_INTEGER;
}

function where(origin: ConfigOrigin, key: string | null): string {
  if (origin.kind !== "file") return `${origin.name} (${origin.kind})`;
  const place = `${origin.path}:${origin.line}`;
  return key === null ? place : `${place}: ${key}`;
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

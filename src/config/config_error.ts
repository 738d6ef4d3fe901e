/**
 * The error of the configuration: one line with the place, the key, the problem and the expected value.
 *
 * @module
 */

/** The place of a value, or the place where a required value is missing. */
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

  constructor({ origin, key, problem }: ConfigProblem) {
    super(oneLine(`${where(origin, key)}: ${problem}`));
    this.name = "ConfigError";
    this.key = key;
    this.origin = origin;
  }
}

function where(origin: ConfigOrigin, key: string | null): string {
  if (origin.kind !== "file") return `${origin.name} (${origin.kind})`;
  const place = `${origin.path}:${origin.line}`;
  return key === null ? place : `${place}: ${key}`;
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

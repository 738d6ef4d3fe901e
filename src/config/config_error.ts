/**
 * The one error of the configuration: a single clear line that says where, which key, what is wrong
 * and what is expected.
 *
 * @module
 */

/** Where a value stands, or where it should have stood. */
export type ConfigOrigin =
  | { readonly kind: "file"; readonly path: string; readonly line: number }
  | { readonly kind: "environment"; readonly name: string }
  /** A setting of the database, by its whole name. */
  | { readonly kind: "database"; readonly name: string };

/** What is wrong with which key; `key` is null when the line has none that can be told. */
export interface ConfigProblem {
  readonly origin: ConfigOrigin;
  readonly key: string | null;
  readonly problem: string;
}

/**
 * A configuration that cannot be used. The message is one line, without values of secrets:
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

/** Flags that set options: `--db-pool=20` for each row of the option table, and short forms. @module */
import { nearest } from "../../base/lib/nearest.ts";
import { rowsOf } from "../../state/config/options.ts";
import { wingOptions } from "../wings.ts";

export interface ShortForm {
  /** As typed, without value: `--port`. */
  readonly name: string;
  readonly key: string;
  /** Name of the value in `--help`. */
  readonly placeholder: string;
}

/** The short forms in the order of `--help`. */
export const shortForms: readonly ShortForm[] = [
  { name: "--port", key: "server-port", placeholder: "PORT" },
  { name: "--host", key: "server-host", placeholder: "HOST" },
  { name: "--schemas", key: "db-schemas", placeholder: "LIST" },
  { name: "--anon-role", key: "db-anon-role", placeholder: "ROLE" },
];

const keysByFlag: ReadonlyMap<string, string> = new Map([
  ...rowsOf({ wingOptions }).flatMap(([key, { aliases = [] }]) =>
    [key, ...aliases].map((spelling) => [`--${spelling}`, key] as const)
  ),
  ...shortForms.map(({ name, key }) => [name, key] as const),
]);

/** Returns the option of a flag without a value; null for other flags. */
export function optionOfFlag(name: string): string | null {
  return keysByFlag.get(name) ?? null;
}

/** Returns the flag that a misspelt flag resembles: a flag of `others`, or the flag of an option. */
export function suggestFlag(name: string, others: readonly string[]): string | null {
  return nearest(name, [...others, ...shortForms.map((form) => form.name), ...keysByFlag.keys()]);
}

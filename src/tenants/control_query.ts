/**
 * The query of tenants in the control database.
 *
 * @module
 */
import type { Statement } from "../database/batch.ts";
import { isJsonObject } from "../lib/json_object.ts";
import { quote } from "../config/codecs.ts";
import { compile, ident, sql } from "../sql/fragment.ts";

/** A relation or a function of the control database. */
export interface ControlName {
  readonly schema: string;
  readonly name: string;
}

/** Returns the statement that reads the enabled tenants. */
export function tenantsStatement(
  { schema, name }: ControlName,
  { isRelation }: { readonly isRelation: boolean },
): Statement {
  const source = isRelation ? ident(schema, name) : sql`${ident(schema, name)}()`;
  const query = sql`
select coalesce(json_agg(json_build_array(name, config)), '[]')::text
from (select name::text as name, config::jsonb as config from ${source} where enabled) tenants`;
  return { ...compile(query), use: "rows" };
}

/** A row, with the text of its configuration. */
export interface ControlRow {
  readonly name: string;
  readonly text: string;
}

/** Parses the result of {@linkcode tenantsStatement}. */
export function parseTenants(answer: string): readonly ControlRow[] {
  const rows = JSON.parse(answer) as readonly (readonly [string | null, unknown])[];
  return rows.map(([name, config]) => ({ name: name ?? "", text: configText(config) }));
}

/**
 * Returns a configuration as a file, with one line for each key in alphabetical order. A value of another type
 * is a line that no file may have: without keys of its own, the tenant would have the control database.
 */
function configText(config: unknown): string {
  if (!isJsonObject(config)) return `${JSON.stringify(config)} is no JSON object\n`;
  return Object.entries(config)
    .toSorted(([one], [other]) => one < other ? -1 : 1)
    .map(([key, value]) => `${keyText(key)} = ${valueText(value)}\n`)
    .join("");
}

/** A key of other characters is not an option's, and cannot be the beginning of another line. */
function keyText(key: string): string {
  return /^[A-Za-z0-9_.-]+$/.test(key) ? key : quote(key);
}

function valueText(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  const text = typeof value === "string" ? value : isList ? value.join(",") : JSON.stringify(value);
  return quote(text);
}

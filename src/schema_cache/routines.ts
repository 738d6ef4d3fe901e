/** Builds callable functions from rows of the catalogue. @module */
import type { TagValues } from "./comment_tags.ts";
import type { Parameter, Routine, Volatility } from "./schema_cache.ts";
import type { ParameterRow, RoutineRow } from "./queries/routines.ts";

/**
 * Builds functions, sorted by schema and name. Overloads are sorted by number of parameters,
 * comment (null first) and parameters. Of the functions' settings, those in `appliedSettings` are
 * kept. `tags` has the values of their tags.
 */
export function buildRoutines(
  rows: readonly RoutineRow[],
  appliedSettings: readonly string[],
  tags: ReadonlyMap<RoutineRow, TagValues>,
): readonly Routine[] {
  const applied = new Set(appliedSettings.map((name) => name.trim().toLowerCase()));
  return rows.map((row) => ({
    ...buildRoutine(row, applied),
    ...tags.get(row),
  })).sort(compareRoutines);
}

function buildRoutine(row: RoutineRow, applied: ReadonlySet<string>): Routine {
  const [schema, name, comment, parameterRows, set, composite, returnsVoid, ...rest] = row;
  const [typeSchema, typeName, returnsRelation, volatility, ownSettings, domain, columns] = rest;
  const parameters = parameterRows.map(buildParameter);
  const settings = (ownSettings ?? []).map(splitSetting);
  const isolation = settings.find(([setting]) => setting === isolationSetting)?.[1] ?? null;
  return {
    schema,
    name,
    comment,
    parameters,
    returns: {
      set,
      composite,
      typeSchema,
      typeName,
      void: returnsVoid,
      domain,
      relation: returnsRelation ? { schema: typeSchema, name: typeName } : null,
      ...columns === null || columns === undefined ? {} : { columns },
    },
    volatility: volatilities[volatility] ?? "volatile",
    isolation: isolation === null ? null : isolation.toLowerCase(),
    settings: settings.filter(([setting]) => applied.has(setting.toLowerCase())),
  };
}

const isolationSetting = "default_transaction_isolation";

const volatilities: Readonly<Record<string, Volatility>> = {
  i: "immutable",
  s: "stable",
  v: "volatile",
};

/** A cast to plain `character` or `bit` would truncate the argument to length 1. */
const callTypes: ReadonlyMap<string, string> = new Map([
  ["character", "character varying"],
  ["character[]", "character varying[]"],
  ["bit", "bit varying"],
  ["bit[]", "bit varying[]"],
]);

function buildParameter([name, type, required, variadic]: ParameterRow): Parameter {
  return { name, type, callType: callTypes.get(type) ?? type, required, variadic };
}

/** Splits `name=value`, the form of `pg_proc.proconfig`. */
function splitSetting(text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function compareRoutines(a: Routine, b: Routine): number {
  return compare(a.schema, b.schema) ||
    compare(a.name, b.name) ||
    a.parameters.length - b.parameters.length ||
    Number(a.comment !== null) - Number(b.comment !== null) ||
    compare(a.comment ?? "", b.comment ?? "") ||
    compareParameters(a.parameters, b.parameters);
}

/** Compares lists of the same length. */
function compareParameters(a: readonly Parameter[], b: readonly Parameter[]): number {
  for (const [index, parameter] of a.entries()) {
    const other = b[index]!;
    const order = compare(parameter.name, other.name) || compare(parameter.type, other.type);
    if (order !== 0) return order;
  }
  return 0;
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

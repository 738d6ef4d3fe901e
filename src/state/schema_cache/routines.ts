/** Builds callable functions from rows of the catalogue. @module */
import type { TagValues } from "./comment_tags.ts";
import type { Parameter, Routine, Volatility } from "./schema_cache.ts";
import type { ParameterRow, RoutineRow } from "./queries/routines.ts";

/**
 * Builds functions, sorted by schema and name. Overloads are sorted by number of parameters,
 * comment (null first) and parameters. Keeps only settings that are in `appliedSettings`. `tags`
 * has the values of tags.
 */
export function buildRoutines(
  rows: readonly RoutineRow[],
  appliedSettings: readonly string[],
  tags: ReadonlyMap<RoutineRow, TagValues>,
): readonly Routine[] {
  const applied = new Set(appliedSettings.map((name) => name.trim().toLowerCase()));
  const keyed = rows.map((row) => {
    const routine = { ...buildRoutine(row, applied), ...tags.get(row) };
    return { routine, key: sortKey(routine) };
  });
  return keyed.sort((a, b) => a.key < b.key ? -1 : Number(a.key > b.key))
    .map(({ routine }) => routine);
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

/**
 * Types for casts of arguments. A cast to plain `character` or `bit` would truncate to length 1.
 */
const callTypes: ReadonlyMap<string, string> = new Map([
  ["character", "character varying"],
  ["character[]", "character varying[]"],
  ["bit", "bit varying"],
  ["bit[]", "bit varying[]"],
]);

function buildParameter([name, type, required, variadic, base]: ParameterRow): Parameter {
  const callType = callTypes.get(type) ?? type;
  return { name, type, callType, baseType: base ?? type, required, variadic };
}

/** Splits `name=value`, the form of `pg_proc.proconfig`. */
function splitSetting(text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  return [text.slice(0, equals), text.slice(equals + 1)];
}

/** Returns a text whose order is the order of its parts. Texts contain no NUL, and a function has at
 * most 100 parameters. */
function sortKey({ schema, name, parameters, comment }: Routine): string {
  const count = String(parameters.length).padStart(3, "0");
  const signature = parameters.flatMap((parameter) => [parameter.name, parameter.type]);
  return [schema, name, count, Number(comment !== null), comment ?? "", ...signature].join("\0");
}

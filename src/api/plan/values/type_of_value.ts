/** Types of planned values, if they are known. @module */
import { cachedColumn, type FieldScope } from "./fields.ts";
import type { PlannedValue } from "../read_node.ts";
import { printedType } from "./type_names.ts";

/** Returns the type of a value, in the form of `format_type`; for a domain, its base type. Null if
 * unknown. The type of a cast may lack its schema. */
export function typeOf(value: PlannedValue, scope: FieldScope): string | null {
  switch (value.kind) {
    case "column": {
      const { path, column } = value.field;
      if (path.length > 0) return path.at(-1)!.arrow === "->>" ? "text" : null;
      const type = cachedColumn(column, scope)?.baseType;
      return type === undefined ? null : printedType(type);
    }
    case "cast":
      return printedType(value.type.toLowerCase());
    case "call":
      if (textFunctions.has(value.function)) return "text";
      if (timeFunctions.has(value.function)) return "timestamp without time zone";
      return sameTypeFunctions.has(value.function) ? typeOf(value.value, scope) : null;
    case "document":
      return "tsvector";
    case "aggregate":
      return sameTypeFunctions.has(value.function) && value.argument !== null
        ? typeOf(value.argument, scope)
        : null;
    case "related":
    case "outer":
      return null;
    default:
      return value satisfies never;
  }
}

/** Returns whether a value needs a conversion to `tsvector`. Columns of unknown type are assumed to
 * be a `tsvector`. */
export function needsDocument(value: PlannedValue, scope: FieldScope): boolean {
  const type = typeOf(value, scope);
  if (type !== null) return type !== "tsvector";
  return value.kind !== "column" || value.field.path.length > 0;
}

const textFunctions: ReadonlySet<string> = new Set(
  ["lower", "upper", "trim", "left", "right", "concat", "to_char", "collate", "string_agg"],
);
const timeFunctions: ReadonlySet<string> = new Set(["date_trunc", "date_bin", "at_time_zone"]);
const sameTypeFunctions: ReadonlySet<string> = new Set(
  ["coalesce", "nullif", "greatest", "least", "max", "min", "mode"],
);

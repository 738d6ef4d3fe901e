/**
 * Plans calls of functions in values: the document of a full-text search, and the operators of extensions.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import type { FieldScope } from "./fields.ts";
import type { ExtensionObject, PlannedArgument, PlannedValue } from "./read_node.ts";
import { findDistance, isTextType, similaritySchema } from "./search_operators.ts";
import { needsDocument, typeOf } from "./type_of_value.ts";
import type { ValueFunction } from "./value_functions.ts";

/**
 * Plans a call of a function that is not an aggregate. Throws `167` if an extension lacks the operator or
 * function for the type of the value before it.
 */
export function planFunctionCall(
  { name, needs, kinds }: ValueFunction,
  { before, column, args }: {
    readonly before: PlannedValue;
    /** The column that errors name. */
    readonly column: string;
    readonly args: readonly PlannedArgument[];
  },
  scope: FieldScope,
): PlannedValue {
  const isRank = kinds[0] === "kind" && name !== "ts_headline" && needsDocument(before, scope);
  const value: PlannedValue = isRank
    ? { kind: "document", value: before, language: languageOf(args) }
    : before;
  const call = { kind: "call", function: name, value, arguments: args } as const;
  if (needs === null) return call;
  const type = typeOf(before, scope);
  const extension = needs.kind === "distance"
    ? distanceOf(needs.operator, type, scope.cache)
    : similarityOf(name, type, scope.cache);
  if (extension === null) throw errors.noOperator(name, { column, type });
  return { ...call, extension };
}

function distanceOf(
  operator: string,
  type: string | null,
  cache: SchemaCache,
): ExtensionObject | null {
  const found = type === null ? null : findDistance(operator, type, cache);
  return found === null ? null : { schema: found.schema, rightType: found.right };
}

function similarityOf(
  name: string,
  type: string | null,
  cache: SchemaCache,
): ExtensionObject | null {
  const schema = isTextType(type) ? similaritySchema(name, cache) : null;
  return schema === null ? null : { schema, rightType: null };
}

function languageOf([query]: readonly PlannedArgument[]): string | null {
  return query?.kind === "textQuery" ? query.language : null;
}

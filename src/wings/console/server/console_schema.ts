/** The part of the schema cache that the console needs. @module */
import type {
  Column,
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";

export type ConsoleRelation = ReturnType<typeof consoleRelation>;
export type ConsoleColumn = ConsoleRelation["columns"][number];
export type ConsoleRelationship = ReturnType<typeof consoleRelationship>;
export type ConsoleFunction = ReturnType<typeof consoleFunction>;

/** The part of the schema cache that the console needs: the response of `/console/schema`. */
export interface ConsoleSchema {
  readonly relations: readonly ConsoleRelation[];
  readonly relationships: readonly ConsoleRelationship[];
  readonly functions: readonly ConsoleFunction[];
}

/**
 * Returns relations, relationships and functions of the schema cache, without properties that only
 * queries need. If a schema has fallbacks, includes the relations and functions of the fallbacks,
 * without their relationships.
 */
export function consoleSchema(cache: SchemaCache | null): ConsoleSchema {
  if (cache === null) return { relations: [], relationships: [], functions: [] };
  const { relations, relationships, routines, fallbacks = [] } = cache.data;
  const withServed = <Named extends QualifiedName>(
    all: readonly Named[],
    servedBy: (schema: string) => readonly Named[],
  ) => [
    ...all,
    ...fallbacks.flatMap(([schema]) =>
      servedBy(schema).filter((each) => each.schema !== schema).map((each) => ({ ...each, schema }))
    ),
  ];
  const relationsOf = (schema: string) =>
    cache.relationNames(schema).map((name) => cache.relation({ schema, name })!);
  const routinesOf = (schema: string) =>
    cache.routineNames(schema).flatMap((name) => cache.routines({ schema, name }));
  return {
    relations: withServed(relations, relationsOf).map(consoleRelation),
    relationships: relationships.map(consoleRelationship),
    functions: withServed(routines, routinesOf).map(consoleFunction),
  };
}

function consoleRelation(relation: Relation) {
  const { schema, name, isView, insertable, updatable, deletable, primaryKey } = relation;
  const { comment, label = null, columns } = relation;
  return {
    ...{ schema, name, comment, isView, insertable, updatable, deletable, primaryKey, label },
    columns: columns.map(consoleColumn),
  };
}

function consoleColumn(column: Column) {
  const { name, comment, nullable, maxLength, generated, enumLabels } = column;
  return {
    ...{ name, comment, nullable, maxLength, generated, enumLabels },
    type: shortType(column.declaredType),
    baseType: shortType(column.baseType),
    default: column.default,
  };
}

function consoleRelationship(relationship: Relationship) {
  const { kind, origin, foreign } = relationship;
  const key = "constraint" in relationship ? relationship : null;
  const junction = "junction" in relationship ? relationship.junction : null;
  return {
    kind,
    origin: pairOf(origin),
    foreign: pairOf(foreign),
    /** Whether the origin has the foreign key. */
    isForward: kind === "many-to-one" || (kind === "one-to-one" && key?.originIsParent === false),
    /** Column pairs of a foreign key; empty for other relationships. */
    pairs: key?.pairs ?? [],
    junction: junction === null ? null : pairOf(junction),
    /** Hint in `select` to choose among several relationships. */
    hint: "function" in relationship
      ? relationship.function.name
      : junction?.name ?? key?.constraint ?? "",
  };
}

function pairOf({ schema, name }: QualifiedName): readonly [schema: string, name: string] {
  return [schema, name];
}

function consoleFunction(routine: Routine) {
  const { schema, name, comment, volatility, parameters, returns } = routine;
  return {
    ...{ schema, name, comment, volatility },
    parameters: parameters.map((each) => ({
      name: each.name,
      type: shortType(each.type),
      required: each.required,
      variadic: each.variadic,
    })),
    returns: returns.void ? "void" : `${returns.set ? "setof " : ""}${typeText(returns)}`,
  };
}

function typeText({ typeSchema, typeName }: Routine["returns"]): string {
  return typeSchema === "pg_catalog" ? typeName : shortType(`${typeSchema}.${typeName}`);
}

/** Removes the schema `public` from a type name, because it does not help readers. */
function shortType(type: string): string {
  return type.replace(/^public\./, "");
}

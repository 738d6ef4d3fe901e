/** The part of the schema cache that the console shows. @module */
import type {
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";
import type {
  ConsoleFunction,
  ConsoleRelation,
  ConsoleRelationship,
  ConsoleSchema,
} from "./console_data.ts";

export type RelationshipKind = Relationship["kind"];

/**
 * Returns relations, relationships and functions of the schema cache without what only queries need. A schema
 * with fallbacks has the relations and functions that it serves of them too, without relationships.
 */
export function consoleSchema(cache: SchemaCache): ConsoleSchema {
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

function consoleRelation(relation: Relation): ConsoleRelation {
  const { schema, name, isView, insertable, updatable, deletable, primaryKey } = relation;
  const { comment, label = null } = relation;
  return {
    ...{ schema, name, comment, isView, insertable, updatable, deletable, primaryKey, label },
    columns: relation.columns.map((column) => ({
      name: column.name,
      comment: column.comment,
      nullable: column.nullable,
      type: shortType(column.declaredType),
      baseType: shortType(column.baseType),
      maxLength: column.maxLength,
      default: column.default,
      generated: column.generated,
      enumLabels: column.enumLabels,
    })),
  };
}

function consoleRelationship(relationship: Relationship): ConsoleRelationship {
  const common = {
    kind: relationship.kind,
    origin: pairOf(relationship.origin),
    foreign: pairOf(relationship.foreign),
    isForward: false,
    pairs: [],
    junction: null,
  };
  switch (relationship.kind) {
    case "computed":
      return { ...common, hint: relationship.function.name };
    case "many-to-many": {
      const { junction } = relationship;
      return { ...common, hint: junction.name, junction: pairOf(junction) };
    }
    default:
      return {
        ...common,
        isForward: relationship.kind === "many-to-one" ||
          (relationship.kind === "one-to-one" && !relationship.originIsParent),
        hint: relationship.constraint,
        pairs: relationship.pairs,
      };
  }
}

function pairOf({ schema, name }: QualifiedName): readonly [schema: string, name: string] {
  return [schema, name];
}

function consoleFunction(routine: Routine): ConsoleFunction {
  const { schema, name, comment, volatility, parameters, returns } = routine;
  return {
    ...{ schema, name, comment, volatility },
    parameters: parameters.map(({ name, type, required, variadic }) => ({
      ...{ name, type: shortType(type), required, variadic },
    })),
    returns: returns.void ? "void" : `${returns.set ? "setof " : ""}${typeText(returns)}`,
    isSet: returns.set,
  };
}

function typeText({ typeSchema, typeName }: Routine["returns"]): string {
  return typeSchema === "pg_catalog" ? typeName : shortType(`${typeSchema}.${typeName}`);
}

/** Leaves out the schema `public`, which says nothing to readers. */
function shortType(type: string): string {
  return type.replace(/^public\./, "");
}

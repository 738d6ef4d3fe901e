/**
 * The part of the schema cache that the console shows.
 *
 * @module
 */
import type {
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCacheData,
} from "../schema_cache/schema_cache.ts";
import type {
  ConsoleFunction,
  ConsoleRelation,
  ConsoleRelationship,
  ConsoleSchema,
} from "./console_data.ts";

export type RelationshipKind = Relationship["kind"];

/** Returns relations, relationships and functions of the schema cache without what only queries need. */
export function consoleSchema(data: SchemaCacheData): ConsoleSchema {
  return {
    relations: data.relations.map(consoleRelation),
    relationships: data.relationships.map(consoleRelationship),
    functions: data.routines.map(consoleFunction),
  };
}

function consoleRelation(relation: Relation): ConsoleRelation {
  const { schema, name, comment, isView, insertable, updatable, deletable, primaryKey } = relation;
  return {
    ...{ schema, name, comment, isView, insertable, updatable, deletable, primaryKey },
    columns: relation.columns.map((column) => ({
      name: column.name,
      comment: column.comment,
      nullable: column.nullable,
      type: column.declaredType,
      baseType: column.baseType,
      default: column.default,
      generated: column.generated,
      enumLabels: column.enumLabels,
    })),
  };
}

function consoleRelationship(relationship: Relationship): ConsoleRelationship {
  const ends = {
    kind: relationship.kind,
    origin: pairOf(relationship.origin),
    foreign: pairOf(relationship.foreign),
  };
  switch (relationship.kind) {
    case "computed":
      return {
        ...ends,
        isForward: false,
        hint: relationship.function.name,
        pairs: [],
        junction: null,
      };
    case "many-to-many": {
      const { junction } = relationship;
      return {
        ...ends,
        isForward: false,
        hint: junction.name,
        pairs: [],
        junction: pairOf(junction),
      };
    }
    default:
      return {
        ...ends,
        isForward: relationship.kind === "many-to-one" ||
          (relationship.kind === "one-to-one" && !relationship.originIsParent),
        hint: relationship.constraint,
        pairs: relationship.pairs,
        junction: null,
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
      ...{ name, type, required, variadic },
    })),
    returns: returns.void ? "void" : `${returns.set ? "setof " : ""}${typeText(returns)}`,
    isSet: returns.set,
  };
}

function typeText({ typeSchema, typeName }: Routine["returns"]): string {
  return typeSchema === "pg_catalog" ? typeName : `${typeSchema}.${typeName}`;
}

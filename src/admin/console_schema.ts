/** The part of the schema cache that the console shows. @module */
import type {
  QualifiedName,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
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
export function consoleSchema(cache: SchemaCache): ConsoleSchema {
  const { relations, relationships, routines, fallbacks = [] } = cache.data;
  const served = fallbacks.map(([schema]) => servedBy(schema, cache));
  return {
    relations: [relations, ...served.map((each) => each.relations)].flat().map(consoleRelation),
    relationships: [relationships, ...served.map((each) => each.relationships)].flat()
      .map(consoleRelationship),
    functions: [routines, ...served.map((each) => each.routines)].flat().map(consoleFunction),
  };
}

/** Returns what a schema serves of its fallbacks, as if it were its own. */
function servedBy(
  schema: string,
  cache: SchemaCache,
): Pick<SchemaCacheData, "relations" | "relationships" | "routines"> {
  const own = <Named extends QualifiedName>(each: Named): Named => ({ ...each, schema });
  // A function of rows may lead to a relation that the schema hides.
  const served = (each: QualifiedName) =>
    cache.relation({ schema, name: each.name })?.schema === each.schema ? own(each) : each;
  const isOther = (each: QualifiedName) => each.schema !== schema;
  const relations = cache.relationNames(schema).map((name) => cache.relation({ schema, name })!);
  return {
    relations: relations.filter(isOther).map(own),
    relationships: relations.flatMap((relation) =>
      cache.relationships(relation, schema)
        .filter(({ origin, foreign }) => isOther(origin) || isOther(foreign))
        .map((each) => ({ ...each, origin: own(each.origin), foreign: served(each.foreign) }))
    ),
    routines: cache.routineNames(schema).flatMap((name) => cache.routines({ schema, name }))
      .filter(isOther).map(own),
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

/**
 * What a document describes, whatever its version: the relations and functions of one schema.
 *
 * @module
 */
import type { SchemaMetadata } from "../../query/schema_metadata.ts";
import type {
  Column,
  KeyRelationship,
  Relation,
  Routine,
  SchemaCache,
} from "../../schema_cache/schema_cache.ts";

/** One schema as a role sees it. */
export interface ApiModel {
  readonly schema: string;
  /** The schema's comment. */
  readonly comment: string | null;
  /** Sorted by name. */
  readonly relations: readonly DescribedRelation[];
  /** One per name, sorted by name: of overloads the one with the most parameters. */
  readonly routines: readonly Routine[];
  /** The name of a parameter's type as the role's search path shows it. */
  readonly parameterType: (type: string) => string;
}

/** A relation with what relationships say about its columns. */
export interface DescribedRelation {
  readonly relation: Relation;
  readonly columns: readonly DescribedColumn[];
  /** Something can be inserted, updated or deleted. */
  readonly writable: boolean;
}

/** A column and the text about it. */
export interface DescribedColumn {
  readonly column: Column;
  /** Comment and notes about keys. */
  readonly description: string | null;
  /** A cast of the database's own makes and reads its JSON, which may be anything. */
  readonly converted: boolean;
}

/** Puts together what is described. Without privileges in the facts it is everything. */
export function buildModel(schema: string, facts: SchemaMetadata, cache: SchemaCache): ApiModel {
  const relations = facts.relations && new Set(facts.relations);
  const names = cache.relationNames(schema).filter((name) => relations?.has(name) ?? true);
  const parameterType = typeShortener(facts.visibleTypes ?? []);
  const isPermitted = permission(facts, parameterType);
  return {
    schema,
    comment: facts.comment,
    relations: names.map((name) => describeRelation(cache.relation({ schema, name })!, cache)),
    routines: cache.routineNames(schema).flatMap((name) =>
      cache.routines({ schema, name }).filter(isPermitted).slice(-1)
    ),
    parameterType,
  };
}

/** Leaves out the schema of types that are found without it. */
function typeShortener(visibleTypes: readonly string[]): (type: string) => string {
  const visible = new Set(visibleTypes);
  return (type) => {
    const element = type.endsWith("[]") ? type.slice(0, -2) : type;
    return visible.has(element) ? type.slice(schemaPrefix.exec(type)?.[0].length ?? 0) : type;
  };
}

/** `"a.b".` or `ab.` */
const schemaPrefix = /^(?:"(?:[^"]|"")*"|[^".]*)\./;

function permission(
  { functions, overloads }: SchemaMetadata,
  parameterType: (type: string) => string,
): (routine: Routine) => boolean {
  if (functions === undefined || overloads === undefined) return () => true;
  const permitted = new Set(functions);
  const signatures = new Set(overloads.map(([name, types]) => JSON.stringify([name, types])));
  return ({ name, parameters }) =>
    permitted.has(name) ||
    signatures.has(JSON.stringify([name, parameters.map(({ type }) => parameterType(type))]));
}

function describeRelation(relation: Relation, cache: SchemaCache): DescribedRelation {
  const { insertable, updatable, deletable } = relation;
  const primaryKey = new Set(relation.primaryKey);
  const foreignKeys = foreignKeysOf(relation, cache);
  return {
    relation,
    columns: relation.columns.map((column) => {
      const foreignKey = foreignKeys.get(column.name);
      const notes = [
        ...(primaryKey.has(column.name) ? ["This is a Primary Key.<pk/>"] : []),
        ...(foreignKey === undefined ? [] : [foreignKeyNote(foreignKey)]),
      ];
      const converted = cache.representation(column.declaredType, "json") !== undefined ||
        cache.representation("json", column.declaredType) !== undefined;
      return { column, description: withNotes(column.comment, notes), converted };
    }),
    writable: insertable || updatable || deletable,
  };
}

/** By column the relationship of a foreign key of that column alone; tables go before views. */
function foreignKeysOf(
  relation: Relation,
  cache: SchemaCache,
): ReadonlyMap<string, KeyRelationship> {
  const keys = new Map<string, KeyRelationship>();
  for (const relationship of cache.relationships(relation, relation.schema)) {
    if (relationship.kind !== "many-to-one" && relationship.kind !== "one-to-one") continue;
    const [pair, ...more] = relationship.pairs;
    if (relationship.originIsParent || pair === undefined || more.length > 0) continue;
    const known = keys.get(pair[0]);
    const better = known === undefined || known.foreignIsView && !relationship.foreignIsView;
    if (better) keys.set(pair[0], relationship);
  }
  return keys;
}

function foreignKeyNote({ foreign: { name }, pairs }: KeyRelationship): string {
  const column = pairs[0]![1];
  return `This is a Foreign Key to \`${name}.${column}\`.<fk table='${name}' column='${column}'/>`;
}

function withNotes(comment: string | null, notes: readonly string[]): string | null {
  if (notes.length === 0) return comment;
  const text = `Note:\n${notes.join("\n")}`;
  return comment === null ? text : `${comment}\n\n${text}`;
}

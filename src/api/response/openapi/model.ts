/** The model of a document in either version: the relations and functions of one schema. @module */
import type { RelationPrivileges, SchemaMetadata } from "../../query/schema_metadata.ts";
import type {
  Column,
  KeyRelationship,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { readCommentTags } from "../../../state/schema_cache/comment_tags.ts";

/** One schema, limited to the privileges of a role. */
export interface ApiModel {
  readonly schema: string;
  readonly comment: string | null;
  /** Sorted by name. */
  readonly relations: readonly DescribedRelation[];
  /** One function per name, sorted by name: the overload with the most parameters. */
  readonly routines: readonly Routine[];
  /** Returns the type name of a parameter in the search path of the role. */
  readonly parameterType: (type: string) => string;
}

/** A relation with descriptions of its columns. */
export interface DescribedRelation {
  readonly relation: Relation;
  /** Created at each use, because the descriptions of all relations would take much memory. */
  readonly columns: readonly DescribedColumn[];
  readonly writable: boolean;
  /** Methods that the relation supports and, if the metadata has privileges, the role may use. */
  readonly methods: readonly RelationMethod[];
}

export interface DescribedColumn {
  readonly column: Column;
  /** Comment and notes about keys. */
  readonly description: string | null;
  /** Whether a user-defined cast converts values of the column to or from JSON of any form. */
  readonly hasCustomJson: boolean;
}

export interface ModelSource {
  readonly schema: string;
  readonly metadata: SchemaMetadata;
  readonly cache: SchemaCache;
}

/** Returns the model. Without privileges in the metadata, it has the whole schema. */
export function buildModel({ schema, metadata, cache }: ModelSource): ApiModel {
  const privileges = metadata.privileges && privilegesByName(metadata.privileges);
  const permitted = privileges ?? (metadata.relations && new Set(metadata.relations));
  const names = cache.relationNames(schema).filter((name) => permitted?.has(name) ?? true);
  const parameterType = typeShortener(metadata.visibleTypes ?? []);
  const isPermitted = permittedRoutines(metadata, parameterType);
  const deprecation = cache.deprecation(schema);
  const relations = names.map((name) => {
    const relation = cache.relation({ schema, name })!;
    return describeRelation(
      deprecation === undefined ? relation : { deprecation, ...relation },
      { schema, privileges: privileges?.get(name), cache },
    );
  });
  const routines = cache.routineNames(schema).flatMap((name) =>
    cache.routines({ schema, name }).filter(isPermitted).slice(-1)
  );
  return {
    schema,
    comment: readCommentTags(metadata.comment, { dbCommentTags: deprecation !== undefined }).text,
    relations,
    routines: deprecation === undefined
      ? routines
      : routines.map((routine) => ({ deprecation, ...routine })),
    parameterType,
  };
}

export function privilegesByName(
  privileges: readonly RelationPrivileges[],
): ReadonlyMap<string, RelationPrivileges> {
  return new Map(privileges.map((relation) => [relation[0], relation]));
}

/** Returns a function that removes the schema from type names if it is in the role's search path. */
export function typeShortener(visibleTypes: readonly string[]): (type: string) => string {
  const visible = new Set(visibleTypes);
  return (type) => {
    const element = type.endsWith("[]") ? type.slice(0, -2) : type;
    return visible.has(element) ? type.slice(schemaPrefix.exec(type)?.[0].length ?? 0) : type;
  };
}

/** Matches the schema in a type name: `"a.b".` or `ab.`. */
const schemaPrefix = /^(?:"(?:[^"]|"")*"|[^".]*)\./;

export function permittedRoutines(
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

function describeRelation(
  relation: Relation,
  { schema, privileges, cache }: {
    readonly schema: string;
    readonly privileges: RelationPrivileges | undefined;
    readonly cache: SchemaCache;
  },
): DescribedRelation {
  const { insertable, updatable, deletable } = relation;
  return {
    relation,
    get columns() {
      return describeColumns(relation, schema, cache);
    },
    writable: insertable || updatable || deletable,
    methods: relationMethods(relation, privileges),
  };
}

function describeColumns(
  relation: Relation,
  schema: string,
  cache: SchemaCache,
): readonly DescribedColumn[] {
  const foreignKeys = foreignKeysOf(cache.relationships(relation, schema));
  const primaryKey = new Set(relation.primaryKey);
  return relation.columns.map((column) => {
    const foreignKey = foreignKeys.get(column.name);
    const notes = [
      ...(primaryKey.has(column.name) ? ["This is a Primary Key.<pk/>"] : []),
      ...(foreignKey === undefined ? [] : [foreignKeyNote(foreignKey)]),
    ];
    const hasCustomJson = cache.representation(column.declaredType, "json") !== undefined ||
      cache.representation("json", column.declaredType) !== undefined;
    return { column, description: withNotes(column.comment, notes), hasCustomJson };
  });
}

/** Returns the single-column foreign key of each column. Tables are preferred to views. */
function foreignKeysOf(
  relationships: readonly Relationship[],
): ReadonlyMap<string, KeyRelationship> {
  const keys = new Map<string, KeyRelationship>();
  for (const relationship of relationships) {
    if (relationship.kind !== "many-to-one" && relationship.kind !== "one-to-one") continue;
    const [pair, ...more] = relationship.pairs;
    if (relationship.originIsParent || pair === undefined || more.length > 0) continue;
    const current = keys.get(pair[0]);
    const isBetter = current === undefined || current.foreignIsView && !relationship.foreignIsView;
    if (isBetter) keys.set(pair[0], relationship);
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

/** A method of a relation, in the spelling of OpenAPI. */
export type RelationMethod = "get" | "post" | "put" | "patch" | "delete";

/** Returns the methods that a relation and privileges allow. Undefined privileges allow all. */
export function relationMethods(
  { insertable, updatable, deletable, primaryKey }: Relation,
  privileges: RelationPrivileges | undefined,
): readonly RelationMethod[] {
  const [, selects, inserts, updates, deletes] = privileges ?? allPrivileges;
  const allowed: Readonly<Record<RelationMethod, boolean>> = {
    get: selects,
    post: insertable && inserts,
    put: insertable && updatable && inserts && updates && primaryKey.length > 0,
    patch: updatable && updates,
    delete: deletable && deletes,
  };
  return methods.filter((method) => allowed[method]);
}

const methods = ["get", "post", "put", "patch", "delete"] as const;

const allPrivileges: RelationPrivileges = ["", true, true, true, true];

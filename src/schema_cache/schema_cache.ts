/**
 * What is known about the database: plain data that can be dumped as JSON and handed to another
 * thread, and the index over it that stages look names up in.
 *
 * @module
 */

/** A name in a schema. */
export interface QualifiedName {
  readonly schema: string;
  readonly name: string;
}

/** A column of a relation. */
export interface Column {
  readonly name: string;
  readonly comment: string | null;
  readonly nullable: boolean;
  /** Formatted type with modifier: `character varying(10)`, `api.color`, `integer[]`. */
  readonly declaredType: string;
  /** Through all domain levels when the base is in `pg_catalog`, without modifier. */
  readonly baseType: string;
  readonly maxLength: number | null;
  /**
   * Default expression as SQL text: the domain's when the column has none, `nextval` of an identity
   * column that takes values; none for generated columns.
   */
  readonly default: string | null;
  /** Takes no values: a generated column, or an identity column that always makes its own. */
  readonly generated: boolean;
  /** Labels of the base type in sort order; empty for other types. */
  readonly enumLabels: readonly string[];
}

/** A table, view, materialized view, foreign or partitioned table. */
export interface Relation extends QualifiedName {
  readonly comment: string | null;
  readonly isView: boolean;
  readonly insertable: boolean;
  readonly updatable: boolean;
  readonly deletable: boolean;
  /**
   * Reading it can run a function declared `VOLATILE` or ask another server: in the definition of a
   * view, in policies, in operators and types.
   */
  readonly volatile: boolean;
  /** Primary key columns, alphabetical for tables; as tracked for views. */
  readonly primaryKey: readonly string[];
  /** In attribute order. */
  readonly columns: readonly Column[];
  /**
   * Schemas of relations that junctions lead to which are not exposed. Requests cannot use them, but
   * an error does not suggest another origin then. Absent when there are no such junctions.
   */
  readonly hiddenJunctionsTo?: readonly string[];
}

/** One column on the origin's side with the foreign one (or a junction's) it equals. */
export type ColumnPair = readonly [origin: string, foreign: string];

interface RelationshipEnds {
  readonly origin: QualifiedName;
  readonly foreign: QualifiedName;
  /** Both ends are the same relation. */
  readonly self: boolean;
}

/** Made by a foreign key between the two relations. */
export interface KeyRelationship extends RelationshipEnds {
  readonly kind: "one-to-many" | "many-to-one" | "one-to-one";
  /** For one-to-one: the origin is the referenced side. */
  readonly originIsParent: boolean;
  readonly constraint: string;
  readonly pairs: readonly ColumnPair[];
  readonly originIsView: boolean;
  readonly foreignIsView: boolean;
}

/** Made by two foreign keys of a junction. */
export interface JunctionRelationship extends RelationshipEnds {
  readonly kind: "many-to-many";
  readonly junction: QualifiedName;
  /** Constraint from the junction to the origin, and its pairs [origin column, junction column]. */
  readonly originConstraint: string;
  readonly originPairs: readonly ColumnPair[];
  /** Constraint from the junction to the foreign relation; pairs [junction column, foreign column]. */
  readonly foreignConstraint: string;
  readonly foreignPairs: readonly ColumnPair[];
  readonly originIsView: boolean;
  readonly foreignIsView: boolean;
}

/** Made by a function from a row of the origin to rows of the foreign relation. */
export interface ComputedRelationship extends RelationshipEnds {
  readonly kind: "computed";
  readonly function: QualifiedName;
  readonly toOne: boolean;
}

export type Relationship = KeyRelationship | JunctionRelationship | ComputedRelationship;

/** An input parameter of a function. */
export interface Parameter {
  /** Empty when unnamed. */
  readonly name: string;
  /** Type as `regtype` text under an empty search path. */
  readonly type: string;
  /** The type that arguments are cast to: `character` → `character varying`, `bit` → `bit varying`. */
  readonly callType: string;
  readonly required: boolean;
  readonly variadic: boolean;
}

export type Volatility = "immutable" | "stable" | "volatile";

/** A function that can be called by `/rpc`. */
export interface Routine extends QualifiedName {
  readonly comment: string | null;
  readonly parameters: readonly Parameter[];
  readonly returns: {
    readonly set: boolean;
    /** A row type, through domains, or OUT/INOUT/TABLE parameters. */
    readonly composite: boolean;
    readonly typeSchema: string;
    readonly typeName: string;
    /** The result is `void`. */
    readonly void: boolean;
    /** Name of the domain that is returned, if it is one. */
    readonly domain: string | null;
    /** The relation whose row type is returned, directly or through domains. */
    readonly relation: QualifiedName | null;
  };
  readonly volatility: Volatility;
  readonly hasVariadic: boolean;
  /** From the function's own `default_transaction_isolation`, lower case. */
  readonly isolation: string | null;
  /** Function-level settings that are applied to the transaction: [name, value]. */
  readonly settings: readonly (readonly [string, string])[];
}

/** An implicit cast between a domain and json or text that the service applies itself. */
export interface DataRepresentation {
  /** Types as `format_type` text: `api.color`, `json`, `text`. */
  readonly source: string;
  readonly target: string;
  readonly function: QualifiedName;
}

/** A database-defined way to render rows, or a function's value, as a media type. */
export interface MediaHandler {
  /** `aggregate` over a relation's rows, over `any` rows, or a `function`'s own value. */
  readonly kind: "aggregate" | "any" | "function";
  /** Relation of an `aggregate`, name of a `function`; null for `any`. */
  readonly target: QualifiedName | null;
  readonly handler: QualifiedName;
  /** Name of the domain, in its original case. */
  readonly mediaType: string;
  /** The domain stands on `bytea`, not on something that is text. */
  readonly binary: boolean;
}

/** Everything, as JSON-serialisable data. */
export interface SchemaCacheData {
  readonly relations: readonly Relation[];
  readonly relationships: readonly Relationship[];
  readonly routines: readonly Routine[];
  readonly representations: readonly DataRepresentation[];
  readonly mediaHandlers: readonly MediaHandler[];
  /**
   * Names of functions that run a function declared `VOLATILE`: they are declared so, or the defaults
   * of their arguments or an aggregate's support functions are. Of those declared so, only the ones
   * that a read can call beside its own function are here: with a row, or a column, as sole argument.
   * Null when operators, casts or types run such functions, so that any statement may.
   */
  readonly volatileFunctions: readonly string[] | null;
}

/** The data with constant-time look-ups. Built by `indexSchemaCache`. */
export interface SchemaCache {
  readonly data: SchemaCacheData;
  relation(name: QualifiedName): Relation | undefined;
  column(relation: QualifiedName, column: string): Column | undefined;
  /** Names of all relations of a schema, sorted. */
  relationNames(schema: string): readonly string[];
  /**
   * Relationships of an origin to relations of one schema (computed ones: by functions of it), in the
   * order in which an ambiguity lists them.
   */
  relationships(origin: QualifiedName, foreignSchema: string): readonly Relationship[];
  /** Names of the relations of a schema that have relationships to it, sorted. */
  relatedOrigins(schema: string): readonly string[];
  /** Overloads of a function, fewest parameters first. */
  routines(name: QualifiedName): readonly Routine[];
  /** Names of all functions of a schema, sorted. */
  routineNames(schema: string): readonly string[];
  /** The cast function from one type to another, if the service has to apply it. */
  representation(source: string, target: string): QualifiedName | undefined;
  /**
   * The handler of a target (or of any, with null) for a lower-case media type. `kind` tells a
   * function from the relation of the same name; without it the relation's comes first.
   */
  mediaHandler(
    target: QualifiedName | null,
    mediaType: string,
    kind?: MediaHandler["kind"],
  ): MediaHandler | undefined;
  /**
   * What a function makes of this cache, made on first use and kept as long as the cache: for indexes
   * that a stage needs. The function itself is the key.
   */
  derived<Value>(derive: (cache: SchemaCache) => Value): Value;
}

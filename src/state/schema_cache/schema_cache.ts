/**
 * The schema cache: metadata of the database as plain data, and its index.
 *
 * The data can be dumped as JSON and sent to another thread. Stages look names up in the index.
 *
 * @module
 */
import type { HeaderList } from "../../base/lib/header_list.ts";

export interface QualifiedName {
  readonly schema: string;
  readonly name: string;
}

export interface Column {
  readonly name: string;
  readonly comment: string | null;
  readonly nullable: boolean;
  /** Formatted type with modifier: `character varying(10)`, `api.color`, `integer[]`. */
  readonly declaredType: string;
  /** Base type of domains, without modifier, if it is in `pg_catalog`; otherwise the declared type. */
  readonly baseType: string;
  readonly maxLength: number | null;
  /** SQL of the column's default, else the domain's, else `nextval` of an identity column. */
  readonly default: string | null;
  /** True for a generated column, or an identity column `GENERATED ALWAYS`. */
  readonly generated: boolean;
  /** Labels of the base type in sort order; empty for other types. */
  readonly enumLabels: readonly string[];
}

/** A unique index of a table, which `ON CONFLICT` can use. */
export interface UniqueIndex {
  readonly name: string;
  /** Columns in index order; null if a key of the index is an expression. */
  readonly columns: readonly string[] | null;
  readonly expressions: readonly string[];
  /** SQL text of the condition of a partial index; null otherwise. */
  readonly predicate: string | null;
}

/** A table, view, materialized view, foreign or partitioned table. */
export interface Relation extends QualifiedName {
  readonly comment: string | null;
  readonly isView: boolean;
  readonly insertable: boolean;
  readonly updatable: boolean;
  readonly deletable: boolean;
  /** Whether a read can run a `VOLATILE` function, or query another server. */
  readonly volatile: boolean;
  /** Whether reads, or only writes, run functions that may change the session. Default: neither. */
  readonly changesSession?: "read" | "write";
  /** Where requests that read the relation must run. Default: a standby may execute them. */
  readonly readsFrom?: "primary";
  /** Whether workers of Citus have its rows, or the rows of a table that a view reads. Default: false. */
  readonly isOnWorkers?: true;
  /** Column that names a row for human readers, from the tag `@label`. Default: none. */
  readonly label?: string;
  /** Maximum rows of a request, from the tag `@maxRows`. A lower `db-max-rows` takes precedence.
   * Default: none. */
  readonly maxRows?: number;
  /** Response headers from the tag `@deprecated`. Default: none. */
  readonly deprecation?: HeaderList;
  /** Whether several inserts have the same effect as one insert of all rows. Default: false. */
  readonly hasDivisibleInserts?: true;
  /** How an upsert recognises updated rows: by the old row, or by `xmax`. Default: it cannot. */
  readonly mergeAction?: "old" | "xmax";
  /** Whether `tableoid`, `xmin` and `ctid` of its rows are available. `except inserts`: not in
   * `INSERT … RETURNING`, as for a partitioned table. Default: never. */
  readonly systemColumns?: "always" | "except inserts";
  /** Whether other tables inherit from the table, so that its keys may repeat there. Default: false. */
  readonly isInherited?: true;
  /** Primary key columns: in alphabetical order for tables, in key order for views. */
  readonly primaryKey: readonly string[];
  /** Unique indexes of a table, sorted by name. Default: none. */
  readonly uniqueIndexes?: readonly UniqueIndex[];
  readonly columns: readonly Column[];
  /** Schemas to which junctions in unexposed schemas lead. Errors about an embed of these schemas
   * suggest no other origin. Default: none. */
  readonly hiddenJunctionsTo?: readonly string[];
}

/** A column of the origin, and the matching column of the foreign relation or junction. */
export type ColumnPair = readonly [origin: string, foreign: string];

interface RelationshipEnds {
  readonly origin: QualifiedName;
  readonly foreign: QualifiedName;
  /** True if both ends are the same relation. */
  readonly self: boolean;
}

/** A relationship by a foreign key between the two relations. */
export interface KeyRelationship extends RelationshipEnds {
  readonly kind: "one-to-many" | "many-to-one" | "one-to-one";
  /** For one-to-one: true if the origin is the referenced relation. */
  readonly originIsParent: boolean;
  readonly constraint: string;
  readonly pairs: readonly ColumnPair[];
  readonly originIsView: boolean;
  readonly foreignIsView: boolean;
}

/** A relationship by two foreign keys of a junction. */
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

/** A relationship by a function that takes a row of the origin and returns foreign rows. */
export interface ComputedRelationship extends RelationshipEnds {
  readonly kind: "computed";
  readonly function: QualifiedName;
  readonly toOne: boolean;
}

export type Relationship = KeyRelationship | JunctionRelationship | ComputedRelationship;

export interface Parameter {
  /** Name of the parameter; empty when it has no name. */
  readonly name: string;
  /** Type as `regtype` text under an empty search path. */
  readonly type: string;
  /** Type of the cast of arguments: `character varying` for `character`, `bit varying` for `bit` */
  readonly callType: string;
  /** Type below all domains. */
  readonly baseType: string;
  readonly required: boolean;
  readonly variadic: boolean;
}

export type Volatility = "immutable" | "stable" | "volatile";

/** A function that `/rpc` can call. */
export interface Routine extends QualifiedName {
  readonly comment: string | null;
  /** Response headers from the tag `@deprecated`. Default: none. */
  readonly deprecation?: HeaderList;
  readonly parameters: readonly Parameter[];
  readonly returns: {
    readonly set: boolean;
    /**
     * Whether the result is a row type, also through domains, or OUT, INOUT or TABLE parameters.
     */
    readonly composite: boolean;
    readonly typeSchema: string;
    readonly typeName: string;
    readonly void: boolean;
    /** Name of the returned domain; null for other types. */
    readonly domain: string | null;
    /** The relation whose row type is returned, directly or through domains; null otherwise. */
    readonly relation: QualifiedName | null;
    /** Columns of OUT, INOUT and TABLE parameters, or of a composite type that is not a
     * relation. */
    readonly columns?: readonly string[];
  };
  readonly volatility: Volatility;
  /** The `default_transaction_isolation` of the function, in lower case; null when unset. */
  readonly isolation: string | null;
  /** Settings of the function that its call applies to the transaction: [name, value]. */
  readonly settings: readonly (readonly [string, string])[];
  /** Maximum rows of a request, as for {@linkcode Relation}. */
  readonly maxRows?: number;
}

/** An implicit cast between a domain and json or text that the service applies itself. */
export interface DataRepresentation {
  /** Types as `format_type` text: `api.color`, `json`, `text`. */
  readonly source: string;
  readonly target: string;
  readonly function: QualifiedName;
}

/** A user-defined media type handler: it renders rows or the value of a function. */
export interface MediaHandler {
  /** `aggregate`: of the rows of one relation. `any`: of the rows of any relation. `function`: of
   * the function's value. */
  readonly kind: "aggregate" | "any" | "function";
  /** The relation of an `aggregate`, the name of a `function`; null for `any`. */
  readonly target: QualifiedName | null;
  readonly handler: QualifiedName;
  /** Media type: the name of the domain, in its original case. */
  readonly mediaType: string;
  /** True if the base type of the domain is `bytea`; false for text types. */
  readonly binary: boolean;
}

/** A function whose only required argument is a row, so that `row.name` calls it. */
export interface RowFunctionName {
  readonly name: string;
  /** The relation whose rows it takes; null if it takes rows of several. */
  readonly relation: QualifiedName | null;
}

/** An operator of distance that indexes can order by. */
export interface DistanceOperator extends QualifiedName {
  /** Type of the left operand by `format_type` under an empty search path: `point`, `ext.vector`. */
  readonly left: string;
  /** Type of the right operand, in the form that a cast needs. */
  readonly right: string;
}

/** Operators and functions of distances and similarity. */
export interface SearchOperators {
  /** At most one for each name and left operand. */
  readonly distances: readonly DistanceOperator[];
  /** Functions and operators of pg_trgm; empty without the extension. */
  readonly similarity: readonly QualifiedName[];
  /** Domains over extension types that have distance operators. */
  readonly domains: readonly (readonly [domain: string, base: string])[];
}

/** The whole schema cache as JSON-serialisable data. */
export interface SchemaCacheData {
  readonly relations: readonly Relation[];
  readonly relationships: readonly Relationship[];
  readonly routines: readonly Routine[];
  readonly representations: readonly DataRepresentation[];
  readonly mediaHandlers: readonly MediaHandler[];
  /** Row functions of exposed and extra schemas. For `pg_catalog`, the list omits aggregates. */
  readonly rowFunctions?: readonly RowFunctionName[];
  /** Default: none. */
  readonly searchOperators?: SearchOperators;
  /**
   * Names of functions that are `VOLATILE`, and of functions that run one: in a default of an
   * argument, or as support function of an aggregate.
   *
   * Of functions that are `VOLATILE` themselves, only those with one argument are listed. A read
   * can call them on a row or a column, in addition to the function that it names. Null when
   * operators, casts or types run volatile functions, so that any statement may run one.
   */
  readonly volatileFunctions: readonly string[] | null;
  /** Names of functions that may change the session, and that a read can call on a row or a column.
   * Null if any statement may run one. Default: null. */
  readonly sessionFunctions?: readonly string[] | null;
  /** User-defined functions that need no arguments and run no `VOLATILE` function. As
   * `db-pre-request`, they can run on a standby. Default: none. */
  readonly stableWithoutArguments?: readonly QualifiedName[];
  /** Names of functions that must run on the primary. Default: none. */
  readonly primaryFunctions?: readonly string[];
  /** Fallbacks of each schema in order, by its name: schemas that provide the objects it lacks.
   * Default: none. */
  readonly fallbacks?: readonly (readonly [schema: string, others: readonly string[]])[];
  /** Response headers for requests of deprecated schemas, by schema. Default: none. */
  readonly deprecatedSchemas?: readonly (readonly [schema: string, headers: HeaderList])[];
  /**
   * Whether the catalogue of Citus exists. Statements then have forms that Citus can distribute.
   */
  readonly isDistributed?: true;
  /** Log lines about declared keys that are ignored. Default: none. */
  readonly declarationProblems?: readonly string[];
}

/** The columns that the role of a request may select. The schema cache itself has no privileges. */
export interface SelectableColumns {
  /** Returns the columns of a relation; null if they are unknown. */
  of(relation: QualifiedName): ReadonlySet<string> | null;
}

/** The data with constant-time look-ups. `indexSchemaCache` builds it. */
export interface SchemaCache {
  readonly data: SchemaCacheData;
  /** Returns a relation of a schema or of its fallbacks. Other look-ups also search the fallbacks. */
  relation(name: QualifiedName): Relation | undefined;
  /** Returns the fallbacks of a schema, in order. */
  fallbacks(schema: string): readonly string[];
  /** Returns the response headers for requests of a deprecated schema. */
  deprecation(schema: string): HeaderList | undefined;
  column(relation: QualifiedName, column: string): Column | undefined;
  /** Returns the names of all relations of a schema, sorted. */
  relationNames(schema: string): readonly string[];
  /** Returns the relationships to one schema, in the order in which ambiguity errors list them. */
  relationships(origin: QualifiedName, foreignSchema: string): readonly Relationship[];
  /** Returns the names of the relations of a schema that have relationships within it, sorted. */
  relatedOrigins(schema: string): readonly string[];
  /** Returns the overloads of a function, fewest parameters first. */
  routines(name: QualifiedName): readonly Routine[];
  /** Returns the names of all functions of a schema, sorted. */
  routineNames(schema: string): readonly string[];
  /** Returns the function that casts one type to another; undefined if it does not exist. */
  representation(source: string, target: string): QualifiedName | undefined;
  /**
   * Returns the handler of a target for a media type in lower case. The target null finds handlers
   * of any rows. `kind` distinguishes a function from a relation of the same name. Without `kind`,
   * the relation's handler takes precedence.
   */
  mediaHandler(
    target: QualifiedName | null,
    mediaType: string,
    kind?: MediaHandler["kind"],
  ): MediaHandler | undefined;
  /** Returns the result of `derive` for this cache. Results are cached by the identity of the function. */
  derived<Value>(derive: (cache: SchemaCache) => Value): Value;
}

/**
 * Loads the schema cache: lists the queries, and builds the data from their results.
 *
 * @module
 */
import type { Statement } from "../database/batch.ts";
import { groupBy } from "../lib/group_by.ts";
import { quoteIdent } from "../sql/fragment.ts";
import { type ForeignKeyRow, keysQuery, type KeysResult } from "./queries/keys.ts";
import { type MediaHandlerRow, mediaHandlersQuery } from "./queries/media_handlers.ts";
import { relationsQuery, type RelationsResult } from "./queries/relations.ts";
import { type RepresentationRow, representationsQuery } from "./queries/representations.ts";
import {
  computedRelationshipsQuery,
  type ComputedRow,
  isNotOfExtension,
  routinesQuery,
} from "./queries/routines.ts";
import { type RowFunctionRow, rowFunctionsQuery } from "./queries/row_functions.ts";
import { searchOperatorsQuery, type SearchOperatorsResult } from "./queries/search_operators.ts";
import { typeCatalogueQuery } from "./queries/type_catalogue.ts";
import { viewRulesQuery } from "./queries/view_rules.ts";
import { volatileRelationsQuery, type VolatileResult } from "./queries/volatile_relations.ts";
import { primaryRowFunctions, readRoutineTags } from "./comment_tags.ts";
import { addDeclaredKeys, type DeclaredKeyConfig } from "./declared_keys.ts";
import { readViewRules } from "./pg_node_tree.ts";
import { buildRelations, columnNames, relationshipEnds } from "./relations.ts";
import {
  deriveRelationships,
  type ForeignKey,
  hiddenJunctions,
  type RelationshipEnd,
  type RelationshipInput,
} from "./relationships.ts";
import { buildRoutines } from "./routines.ts";
import type {
  ComputedRelationship,
  DataRepresentation,
  MediaHandler,
  RowFunctionName,
  SchemaCacheData,
  SearchOperators,
} from "./schema_cache.ts";
import { type KeyColumns, trackViewColumns } from "./view_columns.ts";

/** Options that the schema cache depends on. */
export interface SchemaCacheConfig extends DeclaredKeyConfig {
  readonly dbExtraSearchPath: readonly string[];
  /** Settings of functions that a call applies to its transaction. */
  readonly dbHoistedTxSettings: readonly string[];
  /** Leaves out functions that belong to extensions. Default: false. */
  readonly hidesExtensionFunctions?: boolean;
}

/** One query of the load. Its result is one row with one text column. */
export interface SchemaCacheQuery {
  readonly name: QueryName;
  readonly text: string;
  readonly params: readonly string[];
}

/** Names of the queries. */
export type QueryName =
  | "settings"
  | "view rules"
  | "relations"
  | "volatile relations"
  | "keys"
  | "routines"
  | "computed relationships"
  | "row functions"
  | "search operators"
  | "representations"
  | "media handlers";

/**
 * Lists the queries of the load. They run in this order in one read-only transaction, and can be
 * pipelined. The first one empties the `search_path`, so that the results qualify the names of
 * types and functions. For a missing schema, PostgreSQL reports 3F000 `schema "x" does not exist`.
 */
export function schemaCacheQueries(config: SchemaCacheConfig): readonly SchemaCacheQuery[] {
  const exposed = schemaArray(config.dbSchemas);
  const all = schemaArray([...config.dbSchemas, ...config.dbExtraSearchPath]);
  return [
    { name: "settings", text: settingsQuery, params: [] },
    { name: "view rules", text: viewRulesQuery, params: [all] },
    { name: "relations", text: relationsQuery, params: [exposed] },
    { name: "volatile relations", text: volatileRelationsQuery, params: [exposed] },
    { name: "keys", text: keysQuery, params: [] },
    { name: "routines", text: routinesText(config), params: [exposed] },
    { name: "computed relationships", text: computedRelationshipsQuery, params: [exposed] },
    { name: "row functions", text: rowFunctionsQuery, params: [all] },
    { name: "search operators", text: searchOperatorsQuery, params: [] },
    { name: "representations", text: representationsQuery, params: [] },
    { name: "media handlers", text: mediaHandlersQuery, params: [exposed] },
  ];
}

function routinesText({ hidesExtensionFunctions = false }: SchemaCacheConfig): string {
  return hidesExtensionFunctions ? `${routinesQuery}\n  and ${isNotOfExtension}` : routinesQuery;
}

/** Results of the queries that an engine may lack the catalogue for: the schema cache is empty there. */
export const emptyResults: Readonly<Partial<Record<QueryName, string>>> = {
  "view rules": "",
  "routines": "[]",
  "computed relationships": "[]",
  "row functions": "[]",
  "search operators": '{"distances":[],"similarity":[],"domains":[]}',
  "representations": "[]",
  "media handlers": "[]",
};

/**
 * Lists the queries that read a {@linkcode TypeCatalogue}. They run in this order in one
 * transaction; the second one returns its JSON.
 */
export function typeCatalogueQueries(
  { dbSchemas }: Pick<SchemaCacheConfig, "dbSchemas">,
): readonly Omit<SchemaCacheQuery, "name">[] {
  return [
    { text: settingsQuery, params: [] },
    { text: typeCatalogueQuery, params: [schemaArray(dbSchemas)] },
  ];
}

/** Empties the `search_path`, so that no object of another role takes the place of a built-in one. */
export const emptySearchPath: Statement = {
  text: "select pg_catalog.set_config('search_path', '', true)",
  params: [],
  use: "none",
};

/** Turns JIT compilation off, which would take longer than the queries themselves. */
const settingsQuery = "select pg_catalog.concat(pg_catalog.set_config('search_path', '', true), " +
  "pg_catalog.set_config('jit', 'off', true))";

/**
 * Builds the schema cache from the results of {@linkcode schemaCacheQueries}: one value for each
 * query, in their order.
 */
export function buildSchemaCache(
  results: readonly string[],
  config: SchemaCacheConfig,
): SchemaCacheData {
  const texts = new Map(schemaCacheQueries(config).map(({ name }, i) => [name, results[i]!]));
  const parse = (name: QueryName) => JSON.parse(texts.get(name)!);
  const { relations: rows, enums }: RelationsResult = parse("relations");
  const volatile: VolatileResult = parse("volatile relations");
  const declared = addDeclaredKeys(rows, parse("keys"), config);
  const { relations, primaryRelations, keys, foreign, problems } = declared;
  const computed: readonly ComputedRow[] = parse("computed relationships");
  const { rows: routines, primary } = readRoutineTags(parse("routines"), config);
  const representations: readonly RepresentationRow[] = parse("representations");
  const handlers: readonly MediaHandlerRow[] = parse("media handlers");
  const rowFunctions: readonly RowFunctionRow[] = parse("row functions");
  const primaryFunctions = [...primary, ...primaryRowFunctions(rowFunctions, config)];
  const searchOperators: SearchOperatorsResult = parse("search operators");
  const viewColumns = trackViewColumns({
    views: relations.filter(([, , , , isView]) => isView)
      .map((row) => ({ oid: row[0], columnNames: columnNames(row) })),
    rules: readViewRules(texts.get("view rules")!),
    keyColumns: keyColumns(keys, foreign),
  });
  const primaryKeys = new Map(keys.primary);
  const ends = relationshipEnds(relations, primaryKeys, viewColumns);
  const facts: RelationshipInput = {
    ends,
    foreignKeys: buildForeignKeys(keys.foreign, keys),
    declaredKeys: buildForeignKeys(foreign, keys),
    viewColumns,
    computed: buildComputed(computed, ends),
  };
  return {
    relations: buildRelations({ relations, enums }, ends, {
      volatile: new Set(volatile.relations),
      primary: primaryRelations,
      hiddenJunctions: hiddenJunctions(facts, primaryKeys),
      uniqueIndexes: groupBy(keys.uniqueIndexes, ([table]) => table),
    }),
    relationships: deriveRelationships(facts),
    routines: buildRoutines(routines, config.dbHoistedTxSettings),
    representations: representations.map(buildRepresentation),
    mediaHandlers: handlers.map(buildHandler),
    rowFunctions: rowFunctions.map(buildRowFunction),
    searchOperators: buildSearchOperators(searchOperators),
    volatileFunctions: volatile.functions,
    stableWithoutArguments: volatile.stableWithoutArguments.map(([schema, name]) => ({
      schema,
      name,
    })),
    ...(primaryFunctions.length === 0 ? {} : { primaryFunctions }),
    ...(problems.length === 0 ? {} : { declarationProblems: problems }),
  };
}

/** Returns an array literal of identifiers, for a parameter of type `regnamespace[]`. */
function schemaArray(schemas: readonly string[]): string {
  const items = schemas.map((name) => `"${quoteIdent(name).replaceAll(/["\\]/g, "\\$&")}"`);
  return `{${items.join(",")}}`;
}

function keyColumns(keys: KeysResult, declared: readonly ForeignKeyRow[]): KeyColumns {
  const columns = new Map<number, Set<number>>();
  const add = (table: number, numbers: readonly number[]) => {
    const numbersOfTable = columns.get(table);
    if (numbersOfTable === undefined) columns.set(table, new Set(numbers));
    else numbers.forEach((number) => numbersOfTable.add(number));
  };
  for (const [table, numbers] of keys.primary) add(table, numbers);
  for (const [, table, numbers, foreignTable, foreignNumbers] of [...keys.foreign, ...declared]) {
    add(table, numbers);
    add(foreignTable, foreignNumbers);
  }
  return columns;
}

/** Builds foreign keys. `keys` tells which of them are unique. */
function buildForeignKeys(
  rows: readonly ForeignKeyRow[],
  keys: Pick<KeysResult, "primary" | "unique">,
): readonly ForeignKey[] {
  if (rows.length === 0) return [];
  const keyText = (table: number, columns: readonly number[]) =>
    `${table}:${columns.toSorted((a, b) => a - b)}`;
  const unique = new Set(
    [...keys.primary, ...keys.unique].map(([table, columns]) => keyText(table, columns)),
  );
  return rows.map(([constraint, table, columns, foreignTable, foreignColumns]) => ({
    constraint,
    table,
    columns,
    foreignTable,
    foreignColumns,
    unique: unique.has(keyText(table, columns)),
  }));
}

function buildComputed(
  rows: readonly ComputedRow[],
  ends: readonly RelationshipEnd[],
): readonly ComputedRelationship[] {
  const byOid = new Map(ends.map((end) => [end.oid, end]));
  return rows.flatMap(([schema, name, originOid, foreignOid, toOne]) => {
    const [origin, foreign] = [byOid.get(originOid), byOid.get(foreignOid)];
    if (origin === undefined || foreign === undefined) return [];
    return [{
      kind: "computed",
      origin: origin.name,
      foreign: foreign.name,
      self: origin === foreign,
      function: { schema, name },
      toOne,
    }];
  });
}

function buildRepresentation(
  [source, target, schema, name]: RepresentationRow,
): DataRepresentation {
  return { source, target, function: { schema, name } };
}

function buildRowFunction([name, schema, relation]: RowFunctionRow): RowFunctionName {
  const isOfOne = schema !== null && relation !== null;
  return { name, relation: isOfOne ? { schema, name: relation } : null };
}

function buildSearchOperators(
  { distances, similarity, domains }: SearchOperatorsResult,
): SearchOperators {
  return {
    distances: distances.map(([schema, name, left, right]) => ({ schema, name, left, right })),
    similarity: similarity.map(([schema, name]) => ({ schema, name })),
    domains,
  };
}

function buildHandler(row: MediaHandlerRow): MediaHandler {
  const [kind, targetSchema, targetName, schema, name, mediaType, binary] = row;
  const target = targetSchema === null || targetName === null
    ? null
    : { schema: targetSchema, name: targetName };
  return { kind, target, handler: { schema, name }, mediaType, binary };
}

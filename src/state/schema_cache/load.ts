/** Loads the schema cache: lists the queries, and builds the data from their results. @module */
import {
  computedRelationshipsQuery,
  type ComputedRow,
  type RoutineRow,
  routinesQuery,
  type RowFunctionRow,
  rowFunctionsQuery,
} from "./queries/routines.ts";
import { isNotOfExtension } from "./queries/extensions.ts";
import type { ExposedSchemas } from "../config/exposed_schemas.ts";
import { getOrMake, groupBy } from "../../base/lib/group_by.ts";
import type { SlicedWork } from "../../base/lib/slices.ts";
import { quoteIdent } from "../../base/sql/fragment.ts";
import {
  type ForeignKeyRow,
  foreignKeysQuery,
  type KeyRow,
  type Keys,
  primaryKeysQuery,
  uniqueIndexesQuery,
  type UniqueIndexRow,
  uniqueKeysQuery,
} from "./queries/keys.ts";
import { readWorkerRelations, workerRelationsText } from "./queries/distributed_relations.ts";
import { mediaHandlersQuery, representationsQuery } from "./queries/media_handlers.ts";
import {
  type EnumLabels,
  enumsQuery,
  type RelationRow,
  relationsQuery,
  schemaCommentsQuery,
  viewRulesQuery,
} from "./queries/relations.ts";
import { searchOperatorsQuery } from "./queries/search_operators.ts";
import { typeCatalogueQuery } from "./queries/type_catalogue.ts";
import { volatileRelationsQuery, type VolatileResult } from "./queries/volatile_relations.ts";
import {
  type CommentTagConfig,
  primaryRowFunctions,
  readCommentTags,
  readRoutineTags,
} from "./comment_tags.ts";
import { addDeclaredKeys, type DeclaredKeys } from "./declared_keys.ts";
import { buildRelations, columnNames, relationshipEnds } from "./relations.ts";
import {
  deriveRelationships,
  type ForeignKey,
  hiddenJunctions,
  type RelationshipEnd,
  type RelationshipInput,
} from "./relationships.ts";
import { buildRoutines } from "./routines.ts";
import type { ComputedRelationship, RowFunctionName, SchemaCacheData } from "./schema_cache.ts";
import { type KeyColumns, readViewRule, trackViewColumns } from "./view_columns.ts";

export interface SchemaCacheConfig extends CommentTagConfig {
  readonly dbSchemas: ExposedSchemas;
  readonly dbExtraSearchPath: readonly string[];
  /** Settings of functions that a call applies to its transaction. */
  readonly dbHoistedTxSettings: readonly string[];
  /** Leaves out functions that belong to extensions. Default: false. */
  readonly hidesExtensionFunctions?: boolean;
}

/** Returns a text that changes if an option changes how the rows become a schema cache. Options that
 * only change the rows are not in the text. */
export function schemaCacheKey({ dbSchemas, ...config }: SchemaCacheConfig): string {
  return JSON.stringify([
    [dbSchemas, [...dbSchemas.fallbacks ?? []], config.dbExtraSearchPath],
    [config.dbHoistedTxSettings, config.dbCommentTags ?? false],
  ]);
}

/** One query of the load. Its result has one text column. */
export interface SchemaCacheQuery {
  readonly name: QueryName;
  readonly text: string;
  readonly params: readonly string[];
  /** Parses a row when it arrives. The texts of all rows would need several times the memory of the
   * schema cache. */
  readonly parse: (text: string) => unknown;
}

/** The rows of each query. */
interface CatalogueRows {
  readonly "settings": ReturnType<typeof readWorkerRelations>;
  readonly "view rules": ReturnType<typeof readViewRule>;
  readonly "relations": RelationRow;
  readonly "enums": EnumLabels;
  readonly "volatile relations": VolatileResult;
  readonly "primary keys": KeyRow;
  readonly "unique keys": KeyRow;
  readonly "foreign keys": ForeignKeyRow;
  readonly "unique indexes": UniqueIndexRow;
  readonly "routines": RoutineRow;
  readonly "computed relationships": readonly ComputedRow[];
  readonly "row functions": readonly RowFunctionRow[];
  readonly "search operators": NonNullable<SchemaCacheData["searchOperators"]>;
  readonly "representations": SchemaCacheData["representations"];
  readonly "media handlers": SchemaCacheData["mediaHandlers"];
  readonly "schema comments": Readonly<Record<string, string>>;
}

export type QueryName = keyof CatalogueRows;

/**
 * Lists the queries of the load. They run in this order in one read-only transaction, and can be
 * pipelined. Names of types and functions are qualified. A missing schema fails with 3F000.
 */
export function schemaCacheQueries(config: SchemaCacheConfig): readonly SchemaCacheQuery[] {
  const exposed = [schemaArray(config.dbSchemas)];
  const all = [schemaArray([...config.dbSchemas, ...config.dbExtraSearchPath])];
  const routines = config.hidesExtensionFunctions
    ? `${routinesQuery}\n  and ${isNotOfExtension("pg_proc", "p")}`
    : routinesQuery;
  return [
    query("settings", settingsQuery, [], readWorkerRelations),
    query("view rules", viewRulesQuery, all, readViewRule),
    query("relations", relationsQuery, exposed, rowReader()),
    query("enums", enumsQuery),
    query("volatile relations", volatileRelationsQuery, exposed),
    query("primary keys", primaryKeysQuery, [], rowReader()),
    query("unique keys", uniqueKeysQuery, [], rowReader()),
    query("foreign keys", foreignKeysQuery, [], rowReader()),
    query("unique indexes", uniqueIndexesQuery, [], rowReader()),
    query("routines", routines, exposed, rowReader()),
    query("computed relationships", computedRelationshipsQuery, exposed),
    query("row functions", rowFunctionsQuery, all),
    query("search operators", searchOperatorsQuery),
    query("representations", representationsQuery),
    query("media handlers", mediaHandlersQuery, exposed),
    ...config.dbCommentTags ? [query("schema comments", schemaCommentsQuery, exposed)] : [],
  ];
}

function query(
  name: QueryName,
  text: string,
  params: readonly string[] = [],
  parse: SchemaCacheQuery["parse"] = (row) => JSON.parse(row),
): SchemaCacheQuery {
  return { name, text, params, parse };
}

/** Returns a reader of rows that are JSON arrays. Equal lists in several rows become one object. */
function rowReader(): (text: string) => unknown {
  const lists = new Map<string, unknown>();
  const shared = (list: unknown) => getOrMake(lists, JSON.stringify(list), () => list);
  const read = (part: unknown) => {
    if (!Array.isArray(part)) return part;
    return Array.isArray(part[0]) ? part.map(shared) : shared(part);
  };
  return (text) => (JSON.parse(text) as readonly unknown[]).map(read);
}

/** Queries in one transaction; the second one returns a {@linkcode TypeCatalogue} as JSON. */
export function typeCatalogueQueries(
  { dbSchemas }: Pick<SchemaCacheConfig, "dbSchemas">,
): readonly Pick<SchemaCacheQuery, "text" | "params">[] {
  return [
    { text: settingsQuery, params: [] },
    { text: typeCatalogueQuery, params: [schemaArray(dbSchemas)] },
  ];
}

/** Parameters: schemas as `text[]`. The result is the schemas that do not exist. */
export const missingSchemasQuery = `
select s from pg_catalog.unnest($1::pg_catalog.text[]) s
where s not in (select nspname from pg_catalog.pg_namespace)`;

/**
 * Returns the processes that delay a load: first the ones that lock relations exclusively, then the
 * ones that wait for such a lock. The query reads few catalogue tables, because a table that it reads
 * may be locked.
 */
export const blockersQuery = `
select pg_catalog.concat('process ', l.pid, ' (', a.application_name, ') ',
  case when not l.granted then pg_catalog.concat('waits behind process ',
    pg_catalog.array_to_string(pg_catalog.pg_blocking_pids(l.pid), ', '), ' and then ') end, 'locks ',
  case when l.relation >= 16384 then l.relation::pg_catalog.regclass::pg_catalog.text
    else pg_catalog.concat('the catalogue table ', l.relation) end)
from pg_catalog.pg_lock_status() l cross join pg_catalog.pg_stat_get_activity(l.pid) a
where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock'
  and l.database in (0, (
    select own.datid from pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) own
  ))
order by l.granted desc, a.xact_start, l.pid limit 5`;

/** Turns JIT compilation off, which takes longer than the queries do. */
const settingsQuery =
  `select pg_catalog.concat(pg_catalog.set_config('jit', 'off', true), ${workerRelationsText})`;

/** Builds the schema cache from the parsed results of {@linkcode schemaCacheQueries}. */
export function* buildSchemaCache(
  results: readonly (readonly unknown[])[],
  config: SchemaCacheConfig,
): SlicedWork<SchemaCacheData> {
  const { rows, row } = rowsByName(results, config);
  const volatile = row("volatile relations");
  const declared = addDeclaredKeys(rows("relations"), {
    primary: rows("primary keys"),
    unique: rows("unique keys"),
    foreign: rows("foreign keys"),
    uniqueIndexes: rows("unique indexes"),
  }, config);
  yield;
  const derived = { rules: rows("view rules"), computed: row("computed relationships") };
  const input = yield* relationshipInput(declared, derived);
  const { relations, keys, problems } = declared;
  const onWorkers = row("settings");
  return {
    relations: yield* buildRelations(relations, input.ends, {
      enums: row("enums"),
      ...relationsThatCall(row("volatile relations")),
      primary: declared.primaryRelations,
      onWorkers: onWorkers ?? new Set(),
      tags: declared.tags,
      hiddenJunctions: hiddenJunctions(input, new Map(keys.primary)),
      uniqueIndexes: groupBy(keys.uniqueIndexes, ([table]) => table),
    }),
    relationships: yield* deriveRelationships(input),
    ...functionsOf(rows("routines"), row("row functions"), config),
    representations: row("representations"),
    mediaHandlers: row("media handlers"),
    searchOperators: row("search operators"),
    volatileFunctions: volatile.functions,
    sessionFunctions: volatile.sessionFunctions,
    stableWithoutArguments: volatile.stableWithoutArguments,
    ...versionsOf(config.dbCommentTags ? row("schema comments") : {}, config),
    ...(problems.length === 0 ? {} : { declarationProblems: problems }),
    ...(onWorkers === null ? {} : { isDistributed: true }),
  };
}

/** Returns two functions that find the rows of a query by its name: all rows, and the first. */
function rowsByName(results: readonly (readonly unknown[])[], config: SchemaCacheConfig) {
  const byName = new Map(schemaCacheQueries(config).map(({ name }, i) => [name, results[i]]));
  const rows = <Name extends QueryName>(name: Name) =>
    byName.get(name) as readonly CatalogueRows[Name][];
  return { rows, row: <Name extends QueryName>(name: Name) => rows(name)[0]! };
}

/** Returns the relations that call volatile functions, or functions that may change the session. */
function relationsThatCall(
  { relations, sessionReads, sessionWrites }: CatalogueRows["volatile relations"],
) {
  return {
    volatile: new Set(relations),
    sessionReads: new Set(sessionReads),
    sessionWrites: new Set(sessionWrites),
  };
}

/** Returns the inputs from which relationships are derived. */
function* relationshipInput(
  { relations, keys, foreign }: DeclaredKeys,
  { rules, computed }: {
    readonly rules: readonly CatalogueRows["view rules"][];
    readonly computed: readonly ComputedRow[];
  },
): SlicedWork<RelationshipInput> {
  const viewColumns = yield* trackViewColumns({
    views: relations.filter(([, , , , isView]) => isView)
      .map((row) => ({ oid: row[0], columnNames: columnNames(row) })),
    rules: new Map(rules),
    keyColumns: keyColumns(keys, foreign),
  });
  yield;
  const ends = yield* relationshipEnds(relations, new Map(keys.primary), viewColumns);
  return {
    ends,
    foreignKeys: buildForeignKeys(keys.foreign, keys),
    declaredKeys: buildForeignKeys(foreign, keys),
    viewColumns,
    computed: buildComputed(computed, ends),
  };
}

function functionsOf(
  routineRows: readonly RoutineRow[],
  rowFunctions: readonly RowFunctionRow[],
  config: SchemaCacheConfig,
): Pick<SchemaCacheData, "routines" | "rowFunctions" | "primaryFunctions"> {
  const { rows, primary, tags } = readRoutineTags(routineRows, config);
  const primaryFunctions = [...primary, ...primaryRowFunctions(rowFunctions, config)];
  return {
    routines: buildRoutines(rows, config.dbHoistedTxSettings, tags),
    rowFunctions: rowFunctions.map(buildRowFunction),
    ...(primaryFunctions.length === 0 ? {} : { primaryFunctions }),
  };
}

/** Returns the fallbacks of schemas, and the headers of deprecated schemas. Omits a member that
 * would be empty. */
function versionsOf(
  comments: Readonly<Record<string, string>>,
  config: SchemaCacheConfig,
): Pick<SchemaCacheData, "fallbacks" | "deprecatedSchemas"> {
  const { fallbacks } = config.dbSchemas;
  const deprecated = Object.entries(comments).flatMap(([schema, comment]) => {
    const { deprecation } = readCommentTags(comment, config).values;
    return deprecation === undefined ? [] : [[schema, deprecation] as const];
  });
  return {
    ...(fallbacks === undefined ? {} : { fallbacks: [...fallbacks] }),
    ...(deprecated.length === 0 ? {} : { deprecatedSchemas: deprecated }),
  };
}

/** Returns an array literal of identifiers, for a parameter of type `regnamespace[]`. */
function schemaArray(schemas: readonly string[]): string {
  const items = schemas.map((name) => `"${quoteIdent(name).replaceAll(/["\\]/g, "\\$&")}"`);
  return `{${items.join(",")}}`;
}

function keyColumns(keys: Keys, declared: readonly ForeignKeyRow[]): KeyColumns {
  const columns = new Map<number, Set<number>>();
  const add = (table: number, numbers: readonly number[]) => {
    const numbersOfTable = getOrMake(columns, table, () => new Set());
    numbers.forEach((number) => numbersOfTable.add(number));
  };
  for (const [table, numbers] of keys.primary) add(table, numbers);
  for (const [, table, numbers, foreignTable, foreignNumbers] of [...keys.foreign, ...declared]) {
    add(table, numbers);
    add(foreignTable, foreignNumbers);
  }
  return columns;
}

/** Builds foreign keys. `keys` shows which of them are unique. */
function buildForeignKeys(
  rows: readonly ForeignKeyRow[],
  keys: Pick<Keys, "primary" | "unique">,
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

function buildRowFunction([name, schema, relation]: RowFunctionRow): RowFunctionName {
  const isOfOne = schema !== null && relation !== null;
  return { name, relation: isOfOne ? { schema, name: relation } : null };
}

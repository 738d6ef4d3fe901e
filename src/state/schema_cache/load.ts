/** Loads the schema cache: lists the queries, and builds the data from their results. @module */
import {
  computedRelationshipsQuery,
  type ComputedRow,
  isNotOfExtension,
  type RoutineRow,
  routinesQuery,
  type RowFunctionRow,
  rowFunctionsQuery,
} from "./queries/routines.ts";
import type { ExposedSchemas } from "../config/exposed_schemas.ts";
import { getOrMake, groupBy } from "../../base/lib/group_by.ts";
import { mapSliced, type SlicedWork } from "../../base/lib/slices.ts";
import { quoteIdent } from "../../base/sql/fragment.ts";
import { type ForeignKeyRow, keysQuery, type KeysResult } from "./queries/keys.ts";
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
import { addDeclaredKeys } from "./declared_keys.ts";
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

/** Whether one schema cache serves both configurations: all options of {@linkcode SchemaCacheConfig}. */
export function hasSameSchemaCache(one: SchemaCacheConfig, other: SchemaCacheConfig): boolean {
  const text = ({ dbSchemas, ...config }: SchemaCacheConfig) =>
    JSON.stringify([
      [dbSchemas, [...dbSchemas.fallbacks ?? []], config.dbExtraSearchPath],
      [config.dbHoistedTxSettings, config.dbCommentTags ?? false],
    ]);
  return text(one) === text(other);
}

/** One query of the load. Its result has one text column. */
export interface SchemaCacheQuery {
  readonly name: QueryName;
  readonly text: string;
  readonly params: readonly string[];
}

export type QueryName =
  | "settings"
  | "view rules"
  | "relations"
  | "enums"
  | "volatile relations"
  | "keys"
  | "routines"
  | "computed relationships"
  | "row functions"
  | "search operators"
  | "representations"
  | "media handlers"
  | "schema comments";

/**
 * Lists the queries of the load. They run in this order in one read-only transaction, and can be
 * pipelined. The results qualify the names of types and functions. For a missing schema, PostgreSQL reports 3F000 `schema "x" does not exist`.
 */
export function schemaCacheQueries(config: SchemaCacheConfig): readonly SchemaCacheQuery[] {
  const exposed = schemaArray(config.dbSchemas);
  const all = schemaArray([...config.dbSchemas, ...config.dbExtraSearchPath]);
  return [
    { name: "settings", text: settingsQuery, params: [] },
    { name: "view rules", text: viewRulesQuery, params: [all] },
    { name: "relations", text: relationsQuery, params: [exposed] },
    { name: "enums", text: enumsQuery, params: [] },
    { name: "volatile relations", text: volatileRelationsQuery, params: [exposed] },
    { name: "keys", text: keysQuery, params: [] },
    {
      name: "routines",
      text: routinesQuery + (config.hidesExtensionFunctions ? `\n  and ${isNotOfExtension}` : ""),
      params: [exposed],
    },
    { name: "computed relationships", text: computedRelationshipsQuery, params: [exposed] },
    { name: "row functions", text: rowFunctionsQuery, params: [all] },
    { name: "search operators", text: searchOperatorsQuery, params: [] },
    { name: "representations", text: representationsQuery, params: [] },
    { name: "media handlers", text: mediaHandlersQuery, params: [exposed] },
    ...config.dbCommentTags
      ? [{ name: "schema comments", text: schemaCommentsQuery, params: [exposed] } as const]
      : [],
  ];
}

/** Queries in one transaction; the second one returns a {@linkcode TypeCatalogue} as JSON. */
export function typeCatalogueQueries(
  { dbSchemas }: Pick<SchemaCacheConfig, "dbSchemas">,
): readonly Omit<SchemaCacheQuery, "name">[] {
  return [
    { text: settingsQuery, params: [] },
    { text: typeCatalogueQuery, params: [schemaArray(dbSchemas)] },
  ];
}

/** Parameters: schemas as `text[]`. Returns those that do not exist. */
export const missingSchemasQuery = `
select s from pg_catalog.unnest($1::pg_catalog.text[]) s
where s not in (select nspname from pg_catalog.pg_namespace)`;

/**
 * Returns the processes that lock relations exclusively, or wait to do so, first those that have a lock.
 * A load waits behind both. The query reads as few catalogue tables as possible, since one of them may be locked.
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

/** Turns JIT compilation off, which would take longer than the queries. The result ends with `Citus` if it exists. */
const settingsQuery =
  "select pg_catalog.concat(pg_catalog.set_config('jit', 'off', true), case when " +
  "pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null then 'Citus' end)";

/** Builds the schema cache from the rows of each of {@linkcode schemaCacheQueries}. */
export function* buildSchemaCache(
  results: readonly (readonly string[])[],
  config: SchemaCacheConfig,
): SlicedWork<SchemaCacheData> {
  const texts = new Map(schemaCacheQueries(config).map(({ name }, i) => [name, results[i]!]));
  const parse = (name: QueryName) => JSON.parse(texts.get(name)![0]!);
  const rows: readonly RelationRow[] = yield* parseRows(texts.get("relations")!);
  const routineRows: readonly RoutineRow[] = yield* parseRows(texts.get("routines")!);
  const volatile: VolatileResult = parse("volatile relations");
  const catalogueKeys: KeysResult = parse("keys");
  yield;
  const declared = addDeclaredKeys(rows, catalogueKeys, config);
  const { relations, primaryRelations, tags, keys, foreign, problems } = declared;
  const computed: readonly ComputedRow[] = parse("computed relationships");
  const { rows: routines, primary, tags: routineTags } = readRoutineTags(routineRows, config);
  const rowFunctions: readonly RowFunctionRow[] = parse("row functions");
  const primaryFunctions = [...primary, ...primaryRowFunctions(rowFunctions, config)];
  yield;
  const rules = yield* mapSliced(texts.get("view rules")!, readViewRule);
  const viewColumns = yield* trackViewColumns({
    views: relations.filter(([, , , , isView]) => isView)
      .map((row) => ({ oid: row[0], columnNames: columnNames(row) })),
    rules: new Map(rules),
    keyColumns: keyColumns(keys, foreign),
  });
  yield;
  const primaryKeys = new Map(keys.primary);
  const ends = yield* relationshipEnds(relations, primaryKeys, viewColumns);
  const facts: RelationshipInput = {
    ends,
    foreignKeys: buildForeignKeys(keys.foreign, keys),
    declaredKeys: buildForeignKeys(foreign, keys),
    viewColumns,
    computed: buildComputed(computed, ends),
  };
  yield;
  return {
    relations: yield* buildRelations(relations, ends, {
      enums: parse("enums") as EnumLabels,
      volatile: new Set(volatile.relations),
      sessionReads: new Set(volatile.sessionReads),
      sessionWrites: new Set(volatile.sessionWrites),
      primary: primaryRelations,
      tags,
      hiddenJunctions: hiddenJunctions(facts, primaryKeys),
      uniqueIndexes: groupBy(keys.uniqueIndexes, ([table]) => table),
    }),
    relationships: yield* deriveRelationships(facts),
    routines: buildRoutines(routines, config.dbHoistedTxSettings, routineTags),
    representations: parse("representations"),
    mediaHandlers: parse("media handlers"),
    rowFunctions: rowFunctions.map(buildRowFunction),
    searchOperators: parse("search operators"),
    volatileFunctions: volatile.functions,
    sessionFunctions: volatile.sessionFunctions,
    stableWithoutArguments: volatile.stableWithoutArguments,
    ...(primaryFunctions.length === 0 ? {} : { primaryFunctions }),
    ...versionsOf(config.dbCommentTags ? parse("schema comments") : {}, config),
    ...(problems.length === 0 ? {} : { declarationProblems: problems }),
    ...(texts.get("settings")![0]!.endsWith("Citus") ? { isDistributed: true } : {}),
  };
}

/** Returns which schemas are versions of others, and which are deprecated; neither without any. */
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

function parseRows<Row>(texts: readonly string[]): SlicedWork<readonly Row[]> {
  return mapSliced(texts, (text) => JSON.parse(text) as Row);
}

/** Returns an array literal of identifiers, for a parameter of type `regnamespace[]`. */
function schemaArray(schemas: readonly string[]): string {
  const items = schemas.map((name) => `"${quoteIdent(name).replaceAll(/["\\]/g, "\\$&")}"`);
  return `{${items.join(",")}}`;
}

function keyColumns(keys: KeysResult, declared: readonly ForeignKeyRow[]): KeyColumns {
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

function buildRowFunction([name, schema, relation]: RowFunctionRow): RowFunctionName {
  const isOfOne = schema !== null && relation !== null;
  return { name, relation: isOfOne ? { schema, name: relation } : null };
}

/** Renders the new values of patched columns. @module */
import type { DatabaseFailure } from "../../base/errors/service_error.ts";
import type { PatchedColumn, PatchStep, PatchTest, PatchValue } from "../plan/write/patch_plan.ts";
import type { MergedObject } from "../request/body/patch_document.ts";
import {
  and,
  catalogueSql,
  emptySql,
  ident,
  join,
  literal,
  ownName,
  param,
  type ParamValue,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { raise, raisedDetail } from "../../base/sql/raise.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";
import { fromJson } from "./written_rows.ts";

export interface PatchScope {
  readonly table: Sql;
  /** Alias of {@linkcode patchSource}. */
  readonly source: Sql;
}

export function patchSource(document: ParamValue, alias: Sql): Sql {
  // OFFSET 0 keeps the planner from evaluating this constant in the expressions of the patch.
  return sql`(select cast(${
    param(document)
  } as pg_catalog.jsonb) as document offset 0) as ${alias}`;
}

export function patchAssignments(values: readonly PatchValue[], scope: PatchScope): Sql {
  return join(
    values.map((value) => sql`${ident(value.column.name)} = ${renderValue(value, scope)}`),
  );
}

export function patchTests(tests: readonly PatchTest[], scope: PatchScope): Sql {
  const failed = join(
    tests.map((test) =>
      sql`when ${fails(test, scope)} then ${failure(test, test.value, scope)} is null`
    ),
    sql` `,
  );
  return sql`case ${failed} else true end`;
}

function renderValue(value: PatchValue, scope: PatchScope): Sql {
  const { column } = value;
  switch (value.kind) {
    case "current":
      return sql`${scope.table}.${ident(column.name)}`;
    case "null":
      return sql`null`;
    case "document":
      return converted(documentAt(value.at, scope), column);
    case "steps":
      return withoutNull(renderSteps(value, scope), column);
    case "merged":
      return withoutNull(renderMerge(asJson(value.base, scope), value.object, scope), column);
    case "sum":
    case "text": {
      const operator = value.kind === "sum" ? sql`+` : sql`||`;
      const addend = sql`(${scope.source}.document #>> ${pathParam(value.at)})::${
        catalogueSql(value.addend)
      }`;
      return sql`(${renderValue(value.base, scope)} ${operator} ${addend})`;
    }
    case "checked": {
      const type = catalogueSql(column.type);
      const failed = value.tests.map((test) =>
        sql`when ${fails(test, scope)} then ${failure(test, value.base, scope)}::${type}`
      );
      return sql`case ${join(failed, sql` `)} else ${renderValue(value.base, scope)} end`;
    }
    default:
      return value satisfies never;
  }
}

/** Renders a column's value as JSON. SQL NULL becomes the JSON null. */
function asJson(value: PatchValue, scope: PatchScope): Sql {
  if (value.kind === "null") return sql`'null'::pg_catalog.jsonb`;
  return sql`coalesce(pg_catalog.to_jsonb(${renderValue(value, scope)}), 'null')`;
}

function fails({ value, at: place }: PatchTest, scope: PatchScope): Sql {
  return sql`${asJson(value, scope)} <> ${documentAt(place, scope)}`;
}

function documentAt(path: readonly string[], { source }: PatchScope): Sql {
  return sql`(${source}.document #> ${pathParam(path)})`;
}

function pathParam(path: readonly string[]): Sql {
  return sql`cast(${param(arrayLiteral(path))} as pg_catalog.text[])`;
}

function converted(json: Sql, column: PatchedColumn): Sql {
  const name = ident(column.name);
  if (column.fromJson !== null) {
    return fromJson(sql`cast(${json} as pg_catalog.json)`, column);
  }
  const type = catalogueSql(column.type);
  const record = sql`pg_catalog.jsonb_build_object(${literal(column.name)}, ${json})`;
  return sql`(select ${ownName("x")}.${name} from pg_catalog.jsonb_to_record(${record}) as ${
    ownName("x")
  }(${name} ${type}))`;
}

/** Converts JSON to the type of a column. The JSON null becomes SQL NULL. */
function withoutNull(json: Sql, column: PatchedColumn): Sql {
  const value = sql`nullif(${json}, 'null')`;
  return column.type === "jsonb" ? value : converted(value, column);
}

/** Renders the error of an operation on a value. The expression depends on the column's value or the
 * document, because Citus evaluates expressions without columns before it knows which rows fail. */
function failure(
  { number }: { readonly number: number },
  value: PatchValue,
  { table, source }: PatchScope,
): Sql {
  const [row, name] = readsColumn(value) ? [table, value.column.name] : [source, "document"];
  const detail = param(`operation ${number}`);
  return raise(sql`${detail} || case when ${row}.${ident(name)} is null then '' else '' end`);
}

function readsColumn(value: PatchValue): boolean {
  return "base" in value ? readsColumn(value.base) : value.kind === "current";
}

/** Returns the number of the failed operation, from an error of PostgreSQL; null for other errors. */
export function failedOperation(error: DatabaseFailure): string | null {
  return /^operation ([0-9]+)$/.exec(raisedDetail(error) ?? "")?.[1] ?? null;
}

/**
 * Renders the value after all steps. Each step selects from the previous result.
 *
 * A recursive query would be shorter. But in SET, PostgreSQL computes a common table expression from
 * the old version of a row. So the change of another transaction, made meanwhile, would be lost.
 */
function renderSteps(
  { base, steps }: Extract<PatchValue, { kind: "steps" }>,
  scope: PatchScope,
): Sql {
  const first = sql`(select ${asJson(base, scope)} as doc offset 0)`;
  return steps.reduce(
    (before, step) =>
      sql`(select ${stepResult(step, base, scope)} as doc from ${
        stepSource(step, before)
      } as s offset 0)`,
    first,
  );
}

/**
 * Returns the rows that a step selects from: the previous value and, for a copy, the copied value.
 */
function stepSource({ from, operation }: PatchStep, before: Sql): Sql {
  if (from === null) return before;
  const part = from.length === 0 ? sql`p.doc` : sql`p.doc #> ${pathParam(from)}`;
  const condition = and([...indexChecks(sql`p.doc`, from, from.length), sql`${part} is not null`]);
  const doc = operation.operator === "move" && from.length > 0
    ? sql`case when ${condition} then p.doc #- ${pathParam(from)} else p.doc end`
    : sql`p.doc`;
  return sql`(select ${doc} as doc, case when ${condition} then ${part} end as value from ${before} as p offset 0)`;
}

/** SQL fragments of one operation, from which the new document and the failure are rendered. */
interface StepParts {
  readonly path: PatchStep["path"];
  /** The value at the path, and whether it exists. */
  readonly target: Sql;
  readonly exists: Sql;
  readonly value: Sql;
  readonly failed: Sql;
  /** Renders the document with another value at the path. */
  readonly put: (value: Sql) => Sql;
}

function partsOf({ operation, path }: PatchStep, base: PatchValue, scope: PatchScope): StepParts {
  const target = path.length === 0 ? doc : sql`(${doc} #> ${pathParam(path)})`;
  const isPresent = path.length === 0 ? [] : [sql`${target} is not null`];
  return {
    path,
    target,
    exists: and([...indexChecks(doc, path, path.length), ...isPresent]),
    value: "value" in operation ? documentAt(operation.value, scope) : sql`s.value`,
    failed: sql`cast(${failure(operation, base, scope)} as pg_catalog.jsonb)`,
    put: (value) =>
      path.length === 0 ? value : sql`pg_catalog.jsonb_set(${doc}, ${pathParam(path)}, ${value})`,
  };
}

/** The value before a step. */
const doc = sql`s.doc`;

/** Renders the value after a step. */
function stepResult(step: PatchStep, base: PatchValue, scope: PatchScope): Sql {
  const { operation, path } = step;
  const parts = partsOf(step, base, scope);
  const { target, exists, value, failed, put } = parts;
  const added = () => addition(step, parts);
  const ifExists = (result: Sql, more = emptySql) =>
    sql`case when ${exists}${more} then ${result} else ${failed} end`;
  const ifListed = (cases: Sql) =>
    sql`case when not (${exists}) then ${failed} ${cases} else ${failed} end`;
  switch (operation.operator) {
    case "add":
      return added();
    case "copy":
    case "move":
      return sql`case when ${value} is null then ${failed} else ${
        path.length === 0 ? value : added()
      } end`;
    case "set":
      return sql`case when ${exists} then ${put(value)} else ${added()} end`;
    case "replace":
      return ifExists(put(value));
    case "remove":
      return ifExists(sql`${doc} #- ${pathParam(path)}`);
    case "test":
      return ifExists(doc, sql` and ${target} = ${value}`);
    case "incr":
      return ifExists(
        put(sql`pg_catalog.to_jsonb((${target} #>> '{}')::numeric + (${value} #>> '{}')::numeric)`),
        sql` and ${isKind(target, "number")} and ${isKind(value, "number")}`,
      );
    case "append":
      return ifListed(appended(parts));
    case "pull":
      return ifListed(pulled(parts));
    case "merge":
      throw new TypeError("a merge is no step");
    default:
      return operation satisfies never;
  }
}

function appended({ path, target, value, put }: StepParts): Sql {
  const longer = sql`${target} || pg_catalog.jsonb_build_array(${value})`;
  const text = sql`pg_catalog.to_jsonb((${target} #>> '{}') || (${value} #>> '{}'))`;
  const fromNull = sql`when ${target} = 'null' then pg_catalog.jsonb_build_array(${value})`;
  return sql`when ${isKind(target, "array")} then ${put(longer)}
        when ${isKind(target, "string")} and ${isKind(value, "string")} then ${put(text)}
        ${path.length === 0 ? fromNull : emptySql}`;
}

/** Returns the branches that remove a value from an array. */
function pulled({ path, target, value, put }: StepParts): Sql {
  const rest =
    sql`(select coalesce(pg_catalog.jsonb_agg(e.x order by e.n) filter (where e.x <> ${value}), '[]')
        from pg_catalog.jsonb_array_elements(${target}) with ordinality as e(x, n))`;
  return sql`when ${isKind(target, "array")} then ${put(rest)}
        ${path.length === 0 ? sql`when ${target} = 'null' then s.doc` : emptySql}`;
}

/** Adds a member to an object, or an element to an array. */
function addition({ path, isAttribute }: PatchStep, { value, failed }: StepParts): Sql {
  const last = path.at(-1)!;
  const above = path.slice(0, -1);
  const parent = above.length === 0 ? doc : sql`(${doc} #> ${pathParam(above)})`;
  const length = sql`pg_catalog.jsonb_array_length(${parent})`;
  const insert = (place: Sql) => sql`pg_catalog.jsonb_insert(${doc}, ${place}, ${value})`;
  const inArray = last === "-"
    ? insert(sql`${pathParam(above)} || ${length}::pg_catalog.text`)
    : isIndex(last)
    ? sql`case when ${param(last)}::bigint <= ${length} then ${
      insert(pathParam(path))
    } else ${failed} end`
    : failed;
  return sql`case when not (${and(indexChecks(doc, path, above.length))}) then ${failed}
    when ${isKind(parent, "object")}${
    isAttribute ? sql` and ${parent} ? ${param(last)}` : emptySql
  } then pg_catalog.jsonb_set(${doc}, ${pathParam(path)}, ${value})
    when ${isKind(parent, "array")} then ${inArray}
    else ${failed} end`;
}

function isKind(json: Sql, kind: "array" | "number" | "object" | "string"): Sql {
  return sql`pg_catalog.jsonb_typeof(${json}) = ${literal(kind)}`;
}

function isIndex(segment: string): boolean {
  return /^(?:0|[1-9][0-9]{0,17})$/.test(segment);
}

/** Checks of array indexes. PostgreSQL accepts indexes such as `-1` and `01`, which JSON Pointer does not. */
function indexChecks(doc: Sql, path: readonly string[], count: number): readonly Sql[] {
  return path.slice(0, count).flatMap((segment, at) => {
    if (isIndex(segment) || !/^\s*[+-]?[0-9]/.test(segment)) return [];
    const parent = at === 0 ? doc : sql`(${doc} #> ${pathParam(path.slice(0, at))})`;
    return [sql`pg_catalog.jsonb_typeof(${parent}) is distinct from 'array'`];
  });
}

/** Renders the result of a merge patch on a value: RFC 7396, section 2. */
function renderMerge(value: Sql, object: MergedObject, scope: PatchScope): Sql {
  const { path, removed, objects } = object;
  const others = [...removed, ...objects.map(([key]) => key)];
  const base = removed.length === 0 ? sql`o.doc` : sql`(o.doc - ${pathParam(removed)})`;
  const members = documentAt(path, scope);
  const plain = others.length === 0 ? members : sql`(${members} - ${pathParam(others)})`;
  const merged = objects.map(([key, child]) => {
    const name = sql`${param(key)}::pg_catalog.text`;
    return sql` || pg_catalog.jsonb_build_object(${name}, ${
      renderMerge(sql`(o.doc -> ${name})`, child, scope)
    })`;
  });
  return sql`(select ${base} || ${plain}${join(merged, emptySql)} from (select case when ${
    isKind(value, "object")
  } then ${value} else '{}' end as doc offset 0) as o)`;
}

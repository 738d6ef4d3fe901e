/** Renders the statements of a nested insert. Each level is a statement, because policies and
 * triggers do not see rows of the same statement. @module */
import { groupBy } from "../../base/lib/group_by.ts";
import type { Statement } from "../../database/transaction.ts";
import type {
  FilledColumn,
  InsertLevel,
  InsertStep,
  LevelColumn,
  NestedInsert,
} from "../plan/write/insert_level.ts";
import type { MutatePlan } from "../plan/write/mutate_plan.ts";
import {
  and,
  catalogueSql,
  type CompiledSql,
  emptySql,
  ident,
  join,
  literal,
  or,
  ownName,
  param,
  type Sql,
  sql,
} from "../../base/sql/fragment.ts";
import { nameText } from "../../base/sql/name_text.ts";
import { nameOf } from "./field.ts";
import {
  bodySetting,
  keepIfEqual,
  keepIfFound,
  keepRows,
  keepText,
  keptKeys,
  keptText,
  keyColumn,
  keyValue,
  levelRows,
  sentRows,
  sharedValue,
  writtenRows,
} from "./level_keys.ts";
import { conflictClause, mergeAction, oldRowAlias } from "./on_conflict.ts";
import { objectRow, rowAlias, writtenValue } from "./written_rows.ts";

export type NestedPlan = Extract<MutatePlan, { kind: "insert" }> & {
  readonly nested: NestedInsert;
};

export interface LevelWrite {
  readonly statement: Statement;
  /** Path of the statement's level, for errors; null if it belongs to no level. */
  readonly path: string | null;
}

export function isNested(plan: MutatePlan): plan is NestedPlan {
  return plan.kind === "insert" && plan.nested !== null;
}

export function renderLevelWrites(
  plan: NestedPlan,
  compile: (fragment: Sql) => CompiledSql,
): readonly LevelWrite[] {
  const writer = new LevelWriter(plan, compile);
  return plan.nested.steps.flatMap((step, index) =>
    step.kind === "links" ? [writer.links(step)] : writer.levels(step.level, index === 0)
  );
}

export function renderRootRows(plan: NestedPlan, returned: Sql): Sql {
  const { nested, relation, read, returning, kept = [] } = plan;
  const root = nested.levels[0]!;
  const alias = ownName("root");
  const keys = levelRows(root, 0, alias);
  if (returning === "none" && kept.length === 0) return sql`select 1 from ${keys}`;
  const key = nested.key.map((name) => [ident(name), keyValue(root, alias, name)] as const);
  if (read === null && kept.length === 0) {
    // The table is not read, because the response contains only the key.
    return sql`select ${join(key.map(([name, value]) => sql`${value} as ${name}`))} from ${keys}`;
  }
  const table = nameOf(relation);
  const equal = key.map(([name, value]) => sql`${table}.${name} = ${value}`);
  return sql`select ${returned} from ${table} join ${keys} on ${and(equal)} order by ${alias}.n`;
}

export function foundRows({ nested }: NestedPlan): Sql {
  const rows = levelRows(nested.levels[0]!, 0, ownName("root"));
  return sql`(select pg_catalog.count(*) from ${rows} where action = 'EXISTING')::pg_catalog.text`;
}

/** The column of {@linkcode renderRootRows} for `merge_action()`. */
export const rootMergeAction: Sql = sql`${ownName("root")}.action`;

interface LevelBody {
  readonly json: Sql;
  readonly isKept: boolean;
}

const keptBody: LevelBody = {
  json: sql`pg_catalog.current_setting(${bodySetting}, true)::pg_catalog.json`,
  isKept: false,
};

class LevelWriter {
  readonly #plan: NestedPlan;
  readonly #nested: NestedInsert;
  readonly #sentBody: Sql;
  readonly #keepBody: Sql;

  readonly #compile: (fragment: Sql) => CompiledSql;

  constructor(plan: NestedPlan, compile: (fragment: Sql) => CompiledSql) {
    this.#plan = plan;
    this.#compile = compile;
    this.#sentBody = param(plan.rows.json);
    this.#keepBody =
      sql`pg_catalog.set_config(${bodySetting}, ${this.#sentBody}::pg_catalog.text, true)`;
    this.#nested = plan.nested;
  }

  /**
   * Renders the writes of a level. The first statement stores the body for the later statements.
   */
  levels(number: number, isFirst: boolean): readonly LevelWrite[] {
    const level = this.#nested.levels[number]!;
    const path = level.path.join(".");
    const keepBody = isFirst
      ? [this.#toWrite(sql`select where ${this.#keepBody} is null`, null)]
      : [];
    const effect = level.conflict?.resolution;
    if (effect === "find" && (level.isReferred || level.around === null)) {
      // Each write is a separate statement, which sees rows that other transactions committed
      // during the previous statement.
      const writes = [
        this.#insertMissing(level, number, "inserted"),
        this.#insertMissing(level, number, "repeated"),
        this.#find(level, number),
      ];
      return [...keepBody, ...writes.map((write) => this.#toWrite(write, path))];
    }
    if (effect !== "ignore" || !level.isReferred) {
      const body = isFirst
        ? { json: sql`${this.#sentBody}::pg_catalog.text::pg_catalog.json`, isKept: true }
        : keptBody;
      return [this.#toWrite(this.#insert(level, number, body), path)];
    }
    // Rows are inserted in one order, so that transactions with the same rows wait without a
    // deadlock.
    const insert = this.#insertRows(level, { order: join(this.#conflictValues(level)) });
    const rows = tableOfRows(this.#rows(level, keptBody));
    return [
      ...keepBody,
      this.#toWrite(sql`with ${rows} ${insert}`, path),
      this.#toWrite(this.#lookUp(level, number), path),
    ];
  }

  #insert(level: InsertLevel, number: number, body: LevelBody): Sql {
    const table = nameOf(level.relation);
    const hasAction = level.around === null && this.#plan.mergeAction !== null;
    const returned = [
      ...level.keys.map(({ name }, position) =>
        sql`${table}.${ident(name)}::pg_catalog.text as ${keyColumn(position)}`
      ),
      ...(hasAction ? [sql`${mergeAction(this.#plan)} as action`] : []),
    ];
    const prefix = hasAction ? oldRowAlias(this.#plan) : emptySql;
    const returning = returned.length === 0 ? sql`1` : join(returned);
    const mayDiffer = level.conflict !== null && !level.isReferred;
    const isKept = level.keys.length > 0 || level.around === null;
    const { rank, numbered } = this.#numbered(level, number);
    const rows = this.#rows(level, body, rank);
    const inPlace = sql`(${rows}) as ${sentRows}`;
    // Such an insert is not checked: nothing drops its rows, and no other level needs their keys.
    const isPlain = !isKept && !body.isKept && level.conflict === null;
    if (isPlain && level.relation.hasDivisibleInserts) {
      return this.#insertRows(level, { from: inPlace });
    }
    const isOne = level.around === null && level.shape === "object";
    const insert = this.#insertRows(level, isOne ? { from: inPlace } : {});
    const tables = [
      ...(isOne ? [] : [tableOfRows(rows)]),
      sql`${writtenRows} as (${insert} returning ${prefix}${returning})`,
      ...(isKept ? [sql`${keptKeys} as (${numbered})`] : []),
    ];
    const keys = isKept ? keepRows(number) : sql`''`;
    const kept = body.isKept ? sql`case when ${this.#keepBody} is not null then ${keys} end` : keys;
    const end = mayDiffer
      ? sql`select where ${kept} is null`
      : keepIfEqual(kept, writtenRows, isOne ? sql`1` : undefined);
    return sql`with ${join(tables)} ${end}`;
  }

  /** Renders the written rows with their numbers, and `rank`: the column of {@linkcode sentRows} for it. */
  #numbered(level: InsertLevel, number: number): { readonly rank: Sql; readonly numbered: Sql } {
    const isTarget = this.#nested.steps.some((step) =>
      step.kind === "links" && step.target === number
    );
    if (this.#isSingle(level) && !isTarget) {
      return { rank: emptySql, numbered: sql`select 1 as n, * from ${writtenRows}` };
    }
    const returned = sql`select pg_catalog.row_number() over () as n, * from ${writtenRows}`;
    const isDense = level.around === null || level.shape === "array";
    if (isDense && !isTarget) return { rank: emptySql, numbered: returned };
    return {
      rank: sql`, pg_catalog.row_number() over (order by ${rowAlias}.n) as rank`,
      numbered: sql`select n, p, ${
        ownName("returned")
      }.* from ${sentRows} join (select pg_catalog.row_number() over () as rank, * from ${writtenRows}) as ${
        ownName("returned")
      } using (rank)`,
    };
  }

  /** Returns whether a level has at most one row, whose number is then 1. */
  #isSingle({ around, shape }: InsertLevel): boolean {
    return shape === "object" &&
      (around === null || this.#isSingle(this.#nested.levels[around]!));
  }

  #insertRows(
    level: InsertLevel,
    { from = sentRows, order = sql`n` }: { readonly from?: Sql; readonly order?: Sql },
  ): Sql {
    const { relation, columns, filled, around, conflict } = level;
    const names = [...filled, ...columns].map(({ name }) => ident(name));
    const target = names.length === 0 ? emptySql : sql` (${join(names)})`;
    const values = join(names.map((_, position) => valueColumn(position)));
    const onConflict = conflictClause(conflict, relation, { isCounted: around === null });
    const table = nameOf(relation);
    return sql`insert into ${table}${target} select ${values} from ${from} order by ${order}${onConflict}`;
  }

  #conflictValues({ conflict, columns, filled }: InsertLevel): readonly Sql[] {
    const all = [...filled, ...columns].map(({ name }) => name);
    return conflict!.target.columns!.map((name) => valueColumn(all.indexOf(name)));
  }

  /** Renders an insert of missing rows. The attempt `repeated` inserts rows that existed at the
   * first attempt, and that other transactions then deleted. */
  #insertMissing(level: InsertLevel, number: number, attempt: "inserted" | "repeated"): Sql {
    const isFirst = attempt === "inserted";
    const table = nameOf(level.relation);
    const missing = ownName("missing");
    const { from, equal } = this.#existing(level);
    const open = isFirst ? emptySql : sql` and ${keptText(number, "repeated")} = '[]'`;
    // With a partial index, PostgreSQL must find the conflicts: rows outside of it have none.
    const isMissing = level.conflict!.target.predicate === null
      ? sql`not exists (select from ${from} where ${equal})`
      : sql`true`;
    const rows = sql`select * from ${sentRows} where ${isMissing}${open}`;
    const order = sql`${join(this.#conflictValues(level))}, n`;
    const returned = level.keys.map(({ name }, position) =>
      sql`${table}.${ident(name)}::pg_catalog.text as ${keyColumn(position)}`
    );
    const insert = this.#insertRows(level, { from: missing, order });
    const conflicts =
      sql`(select pg_catalog.count(*) from ${missing}) > (select pg_catalog.count(*) from ${writtenRows})`;
    const parts = [
      keepRows(number, attempt, writtenRows),
      ...(isFirst
        ? [keepText(number, "repeated", sql`case when ${conflicts} then '[]' else 'null' end`)]
        : []),
    ];
    return sql`with ${
      tableOfRows(this.#rows(level, keptBody))
    }, ${missing} as materialized (${rows}), ${writtenRows} as (${insert} returning ${
      join(returned)
    }) select where ${join(parts, sql` || `)} is null`;
  }

  /** Renders the keys of all rows, and whether they were inserted. Fails if a row is missing. */
  #find(level: InsertLevel, number: number): Sql {
    const target = new Set(level.conflict!.target.columns!);
    const isKey = ({ name }: { readonly name: string }) => target.has(name);
    // Only key columns are rendered: defaults of other columns, such as sequences, must not run again.
    const keyLevel: InsertLevel = {
      ...level,
      columns: level.columns.filter(isKey),
      filled: level.filled.filter(isKey),
    };
    const inserted = ownName("inserted");
    const { from, equal, keys } = this.#existing(keyLevel);
    const attempts = (["inserted", "repeated"] as const).map((attempt) =>
      sql`select * from ${levelRows(level, number, inserted, attempt)}`
    );
    const names = join(level.keys.map((_, position) => keyColumn(position)));
    const values = join(
      level.keys.map(({ name }) => sql`${foundAlias}.${ident(name)}::pg_catalog.text`),
    );
    // IN, because PostgreSQL hashes its rows; for a join, it may choose a slow nested loop.
    const action =
      sql`case when (${values}) in (select ${names} from ${inserted}) then 'INSERT' else 'EXISTING' end`;
    const joined =
      sql`select ${sentRows}.n, ${sentRows}.p, ${action} as action${keys} from ${sentRows} join ${from} on ${equal}`;
    const isLost =
      sql`exists (select ${names} from ${inserted} except select ${names} from ${keptKeys})`;
    const isEmpty = or(this.#conflictValues(keyLevel).map((value) => sql`${value} is null`));
    const { isView, schema, name } = level.relation;
    const table = sql`${literal(nameText(schema, name))}::pg_catalog.regclass`;
    const mayHide = isView ? sql`true` : sql`pg_catalog.row_security_active(${table})`;
    return sql`with ${tableOfRows(this.#rows(keyLevel, keptBody))}, ${inserted} as (${
      join(attempts, sql` union all `)
    }), ${keptKeys} as (${joined}) ${keepIfFound(keepRows(number), { isLost, isEmpty, mayHide })}`;
  }

  /** Renders the existing rows as a FROM item, the condition that matches a sent row, and the keys. */
  #existing(level: InsertLevel) {
    const { columns: names, predicate } = level.conflict!.target;
    const needed = new Set([...names!, ...level.keys.map(({ name }) => name)]);
    const where = predicate === null ? emptySql : sql` where ${catalogueSql(predicate)}`;
    const rows = sql`select ${join([...needed].map((name) => ident(name)))} from ${
      nameOf(level.relation)
    }${where}`;
    const values = this.#conflictValues(level);
    const equal = names!.map((name, position) =>
      sql`${foundAlias}.${ident(name)} = ${sentRows}.${values[position]!}`
    );
    const keys = level.keys.map(({ name }, position) =>
      sql`, ${foundAlias}.${ident(name)}::pg_catalog.text as ${keyColumn(position)}`
    );
    return { from: sql`(${rows}) as ${foundAlias}`, equal: and(equal), keys: join(keys, emptySql) };
  }

  #lookUp(level: InsertLevel, number: number): Sql {
    const { from, equal, keys } = this.#existing(level);
    const joined =
      sql`select ${sentRows}.n, ${sentRows}.p${keys} from ${sentRows} join ${from} on ${equal}`;
    return sql`with ${tableOfRows(this.#rows(level, keptBody))}, ${keptKeys} as (${joined}) ${
      keepIfEqual(keepRows(number), keptKeys)
    }`;
  }

  #rows(level: InsertLevel, body: LevelBody, rank = emptySql): Sql {
    const { filled, columns } = level;
    const { defaults } = this.#nested;
    const sources = filled.flatMap(({ sources }) => sources);
    const joined = this.#joins(sources);
    const values = [
      ...filled.map((column) => this.#filledValue(column)),
      ...columns.map((column) => writtenValue(column, { defaults })),
    ].map((value, position) => sql`, ${value} as ${valueColumn(position)}`);
    const type = defaults ? sql`::pg_catalog.jsonb` : emptySql;
    const objects = sql`(select n, p, value${type} as value from (${
      this.#objects(level, body)
    }) as ${ownName("object")}) as ${rowAlias}`;
    const expanded = columns.length === 0
      ? emptySql
      : sql` cross join lateral ${objectRow({ columns, defaults })}`;
    return sql`select ${rowAlias}.n, ${rowAlias}.p${rank}${
      join(values, emptySql)
    } from ${objects}${joined}${expanded}`;
  }

  /** Renders joins with the rows whose keys fill columns. They are left joins, because an item may
   * lack a nested row. */
  #joins(sources: readonly FilledColumn["sources"][number][]): Sql {
    const joins = new Map<number, Sql>();
    for (const { level, row } of sources) {
      const alias = filledAlias({ level });
      const item = levelRows(this.#nested.levels[level]!, level, alias);
      const column = row === "around" ? sql`p` : sql`n`;
      joins.set(level, sql` left join ${item} on ${alias}.n = ${rowAlias}.${column}`);
    }
    return join([...joins.values()], emptySql);
  }

  #filledValue({ sources }: FilledColumn): Sql {
    const values = sources.map((source) =>
      keyValue(this.#nested.levels[source.level]!, filledAlias(source), source.name)
    );
    return sharedValue(values);
  }

  /** Renders the objects of a level: the number `n` of each, the number `p` of its parent object,
   * and its `value`. A single object per parent has the number of the parent. */
  #objects({ around, key, shape }: InsertLevel, body: LevelBody): Sql {
    if (around === null) {
      return shape === "object"
        ? sql`select 1::bigint as n, null::bigint as p, ${body.json} as value`
        : sql`select n, null::bigint as p, value from pg_catalog.json_array_elements(${body.json}) with ordinality as ${
          ownName("element")
        }(value, n)`;
    }
    const outer = this.#objects(this.#nested.levels[around]!, body);
    // OFFSET 0 keeps PostgreSQL from reading the member several times.
    const members = sql`(select n, value -> ${literal(key!)} as value from (${outer}) as ${
      ownName("outer")
    } offset 0) as ${ownName("outer")}`;
    const isNull = sql`pg_catalog.json_typeof(${ownName("outer")}.value) = 'null'`;
    if (shape === "object") {
      return sql`select n, n as p, value from ${members} where not ${isNull}`;
    }
    const number = this.#isSingle(this.#nested.levels[around]!)
      ? sql`${ownName("element")}.n`
      : sql`pg_catalog.row_number() over (order by ${ownName("outer")}.n, ${ownName("element")}.n)`;
    const elements = sql`case when not ${isNull} then ${ownName("outer")}.value end`;
    return sql`select ${number} as n, ${ownName("outer")}.n as p, ${
      ownName("element")
    }.value from ${members}, lateral pg_catalog.json_array_elements(${elements}) with ordinality as ${
      ownName("element")
    }(value, n)`;
  }

  #toWrite(fragment: Sql, path: string | null): LevelWrite {
    return { statement: { ...this.#compile(fragment), use: "none", runsUserCode: true }, path };
  }

  links(
    { junction, around, target, columns, mayExist }: Extract<InsertStep, { kind: "links" }>,
  ): LevelWrite {
    const { levels } = this.#nested;
    const [outer, inner] = [ownName("around"), ownName("target")];
    const sources = groupBy(columns, ({ column }) => column);
    const values = [...sources.values()].map((shared, position) => {
      const all = shared.map(({ level, name }) =>
        keyValue(levels[level]!, level === around ? outer : inner, name)
      );
      return sql`${sharedValue(all)} as ${valueColumn(position)}`;
    });
    const names = join(values.map((_, position) => valueColumn(position)));
    // An array may contain one row twice, but the row gets one link.
    const linked = sql`select pg_catalog.min(n) as n, ${names} from (select ${inner}.n, ${
      join(values)
    } from ${levelRows(levels[target]!, target, inner)} join ${
      levelRows(levels[around]!, around, outer)
    } on ${outer}.n = ${inner}.p) as ${ownName("pairs")} group by ${names}`;
    const into = join([...sources.keys()].map((column) => ident(column)));
    const conflict = mayExist ? sql` on conflict do nothing` : emptySql;
    const rows = sql`select ${names} from (${linked}) as ${ownName("links")} order by n${conflict}`;
    const path = levels[target]!.path.join(".");
    return this.#toWrite(sql`insert into ${nameOf(junction)} (${into}) ${rows}`, path);
  }
}

const foundAlias = ownName("found");

function valueColumn(position: number): Sql {
  return ident(`c${position + 1}`);
}

function tableOfRows(rows: Sql): Sql {
  return sql`${sentRows} as materialized (${rows})`;
}

function filledAlias({ level }: Pick<LevelColumn, "level">): Sql {
  return ownName(`level_${level}`);
}

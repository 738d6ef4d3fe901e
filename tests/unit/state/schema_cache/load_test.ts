import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction } from "../../../../src/database/transaction.ts";
import type { AppStateBase } from "../../../../src/state/app_state/app_state_base.ts";
import { MetadataReader } from "../../../../src/state/app_state/metadata_reader.ts";
import { noValues } from "../../../../src/state/config/load.ts";
import { configSource } from "../../../../src/state/config/source.ts";
import { schemaCacheQueries } from "../../../../src/state/schema_cache/load.ts";

const tables = 3000;

const config = configSource({
  file: null,
  environment: { SVC_DB_URI: "postgres://localhost/app", SVC_DB_SCHEMAS: "api" },
  readFile: () => {
    throw new Error("no file is named");
  },
}).configure(noValues);

/** The rows of a catalogue with tables of three columns each, two of which are the same in all. */
function rowsOf(comment: string | null): ReadonlyMap<string, readonly string[]> {
  const numbers = Array.from({ length: tables }, (_, number) => number + 1);
  const column = (number: number, name: string, type: string, expression: string | null) =>
    [number, name, null, true, type, null, null, expression, null, false] as const;
  return new Map([
    ["settings", ["off"]],
    [
      "relations",
      numbers.map((oid) =>
        JSON.stringify([
          ...[oid, "api", `t${oid}`, oid === 1 ? comment : null, false, 28],
          [
            column(1, "id", "bigint", `nextval('api.t${oid}_id_seq'::regclass)`),
            column(2, "name", "text", null),
            column(3, "created", "timestamp with time zone", "now()"),
          ],
          ...[true, "xmax", "always", false],
        ])
      ),
    ],
    ["enums", ["{}"]],
    [
      "volatile relations",
      ['{"relations":[],"functions":[],"sessionReads":[],"sessionWrites":[]}'],
    ],
    ["primary keys", numbers.map((oid) => `[${oid}, [1]]`)],
    ["foreign keys", numbers.slice(1).map((oid) => `["t_fkey", ${oid}, [2], ${oid - 1}, [1]]`)],
    ["computed relationships", ["[]"]],
    ["row functions", ["[]"]],
    ["search operators", ['{"distances":[],"similarity":[],"domains":[]}']],
    ["representations", ["[]"]],
    ["media handlers", ["[]"]],
  ]);
}

/** A reader of rows that a connection reads as they arrive. `texts` counts the rows that it keeps as texts. */
function readerOf(rows: { current: ReturnType<typeof rowsOf> }) {
  const kept = { texts: 0 };
  const names = new Map(schemaCacheQueries(config).map(({ name, text }) => [text, name]));
  const transaction = ({ statements }: Transaction) =>
    Promise.resolve({
      rows: statements.map(({ text, parse }) =>
        (rows.current.get(names.get(text) ?? "") ?? []).map((row) => {
          if (parse === undefined) kept.texts++;
          return [parse === undefined ? row : parse(row)];
        })
      ),
    });
  const reader = new MetadataReader({ database: { transaction } } as unknown as AppStateBase);
  return { reader, kept };
}

Deno.test("a load keeps no row as a text, and equal columns of thousands of tables once", async () => {
  const { reader, kept } = readerOf({ current: rowsOf(null) });
  const { data } = await reader.readSchema(config);
  strictEqual(kept.texts, 0);
  strictEqual(data.relations.length, tables);
  strictEqual(data.relationships.length, 2 * (tables - 1));
  const columns = data.relations.flatMap((relation) => relation.columns);
  strictEqual(columns.length, 3 * tables);
  strictEqual(new Set(columns).size, tables + 2);
  deepStrictEqual(
    columns.slice(0, 3).map(({ name, declaredType, default: expression }) => [
      name,
      declaredType,
      expression,
    ]),
    [
      ["id", "bigint", "nextval('api.t1_id_seq'::regclass)"],
      ["name", "text", null],
      ["created", "timestamp with time zone", "now()"],
    ],
  );
});

Deno.test("a reload builds the schema cache only if rows or configuration have changed", async () => {
  const rows = { current: rowsOf(null) };
  const { reader } = readerOf(rows);
  const first = await reader.readSchema(config);
  strictEqual((await reader.readSchema(config)).data, first.data);
  const tagged = await reader.readSchema({ ...config, dbHoistedTxSettings: ["work_mem"] });
  notStrictEqual(tagged.data, first.data);
  rows.current = rowsOf("changed");
  const changed = await reader.readSchema(config);
  strictEqual(changed.data.relations[0]!.comment, "changed");
  rows.current = rowsOf(null);
  const last = await reader.readSchema(config);
  notStrictEqual(last.data, first.data);
  deepStrictEqual(last.data, first.data);
});

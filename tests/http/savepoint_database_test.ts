import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { svcDialect } from "../../src/base/dialect.ts";
import type { Statement, Transaction } from "../../src/database/transaction.ts";
import { SavepointDatabase } from "../../src/database/connection/savepoint_database.ts";
import { SqlSession } from "../../src/database/connection/sql_session.ts";
import { openTransport } from "../../src/database/open.ts";
import { DatabaseError } from "../../src/base/errors/service_error.ts";
import { type Engine, engines } from "../support/database/engines.ts";

const base = {
  dbPool: 1,
  dbPoolAcquisitionTimeout: 10,
  dbPoolMaxIdletime: 30,
  dbPoolMaxLifetime: 1800,
  dbPreparedStatements: true,
  dialect: svcDialect,
};

const rows = (text: string): Statement => ({ text, params: [], use: "rows" });
const block = { isolation: "serializable", end: "commit" } as const;
const counted = rows("select count(*) from fixture");
const inserted = rows("insert into fixture values (2) returning id");

function write(statements: readonly Statement[], more: Partial<Transaction> = {}): Transaction {
  const common = { block: null, planContext: null, kind: null };
  return { ...common, statements, access: "read write", ...more } as Transaction;
}

function read(statements: readonly Statement[]): Transaction {
  return write(statements, { access: "read only", body: "stream", retry: "safe" });
}

/** A transaction, and the rows of its last statement or the SQLSTATE of its error. */
type Row = readonly [label: string, transaction: Transaction, result: unknown];

const result = (text: string): Statement => ({ text, params: [], use: "result" });

const table: readonly Row[] = [
  ["a read sees the fixtures", read([counted]), [["1"]]],
  ["a write sees its own rows", write([inserted, counted]), [["2"]]],
  ["a write rolls back", read([counted]), [["1"]]],
  ["a block has the level of the transaction", write([inserted], { block }), [["2"]]],
  ["an error", write([inserted, rows("select 1 / 0")]), "22012"],
  ["a transaction behind an error", read([counted]), [["1"]]],
  ["a read cannot write", read([inserted]), "25006"],
  ["a write behind a read", write([inserted, counted]), [["2"]]],
  ["role and settings", write([rows("set local role none"), rows("set local svc.x = 'y'")]), []],
  ["no setting stays", read([rows("select nullif(current_setting('svc.x', true), '')")]), [[null]]],
  [
    "an end that is decided later",
    write([result("select 5, '[]'"), inserted], { block: { ...block, end: "open" } }),
    [["2"]],
  ],
  ["a transaction behind that end", read([counted]), [["1"]]],
  ["an error at COMMIT's checks", write([rows("insert into fixture values (1)")]), "23505"],
];

for (const engine of Object.keys(engines) as Engine[]) {
  Deno.test(`[${engine}] SavepointDatabase runs transactions in an open transaction`, async (t) => {
    const database = await engines[engine]({ name: "tools", roles: ["anon", "writer"] });
    const dependencies = { embeddedInit: null, applicationName: "test" };
    const dbUri = database.superuserUri ?? database.uri;
    const { transport, close } = await openTransport({ ...base, dbUri }, dependencies);
    try {
      const fixtures = "begin; create table fixture (id int primary key); " +
        "insert into fixture values (1)";
      strictEqual((await new SqlSession(transport).run(fixtures)).failure, null);
      const savepoints = new SavepointDatabase(transport);
      for (const [label, transaction, expected] of table) {
        await t.step(label, async () => {
          const found = await savepoints.transaction(transaction).then(
            async ({ rows, open }) => {
              await open?.end("commit");
              return rows.at(-1);
            },
            (error) => error instanceof DatabaseError ? error.failure.sqlstate : error,
          );
          deepStrictEqual(found, expected);
        });
      }
      await t.step("transactions run one after the other", async () => {
        const transactions = Array.from({ length: 20 }, () => write([inserted, counted]));
        const answers = await Promise.all(transactions.map((each) => savepoints.transaction(each)));
        deepStrictEqual(
          answers.map((answer) => answer.rows[1]?.[0]?.[0]),
          transactions.map(() => "2"),
        );
      });
      await t.step("run() writes for the next transactions, within() undoes it", async () => {
        const count = async () => (await savepoints.transaction(read([counted]))).rows.at(-1);
        const inside = await savepoints.within(async () => {
          await savepoints.run("insert into fixture values (7)");
          await savepoints.within(() =>
            rejects(savepoints.run("insert into fixture values (8); select 1 / 0"), {
              name: "StatementError",
              message: "division by zero",
            })
          );
          return await count();
        });
        deepStrictEqual([inside, await count()], [[["2"]], [["1"]]]);
        deepStrictEqual(await savepoints.run("select 1; select 2, null"), [["2", null]]);
      });
      for (const text of ["commit", "ROLLBACK", "begin", "start transaction", "end", "abort"]) {
        await t.step(`${text} is refused`, () => {
          throws(() => void savepoints.transaction(write([rows(text)])), {
            message: `cannot run in a savepoint: ${text}`,
          });
        });
      }
      strictEqual((await savepoints.version()).startsWith("PostgreSQL"), true);
      await savepoints.close();
      const { results } = await new SqlSession(transport).run(
        "rollback; select to_regclass('fixture')",
      );
      deepStrictEqual(results.at(-1)?.rows, [[null]]);
      if (engine === "pg") {
        const lost = new SavepointDatabase(transport);
        const text = "select pg_terminate_backend(pg_backend_pid())";
        const both = [rows(text), rows("select 1")].map((each) => lost.transaction(read([each])));
        for (const each of both) await rejects(each);
      }
    } finally {
      await close();
      await database.remove();
    }
  });
}

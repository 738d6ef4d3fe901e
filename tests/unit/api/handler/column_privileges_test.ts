import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Transaction, TransactionResult } from "../../../../src/database/transaction.ts";
import type { Database } from "../../../../src/database/database.ts";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";
import { ColumnPrivileges, RoleColumns } from "../../../../src/api/handler/column_privileges.ts";

/** Privileges whose database returns columns by relation. Counts its transactions. */
function privilegesOf(columns: Readonly<Record<string, readonly string[]>> | Error) {
  const transactions: Transaction[] = [];
  const database: Pick<Database, "transaction"> = {
    transaction: (transaction: Transaction) => {
      transactions.push(transaction);
      if (columns instanceof Error) return Promise.reject(columns);
      const rows = transaction.statements.map(({ params }) =>
        (columns[String(params[2])] ?? []).map((name) => [name])
      );
      return Promise.resolve({ rows } as unknown as TransactionResult);
    },
  };
  return { transactions, privileges: new ColumnPrivileges(database) };
}

const relation = (name: string) => ({ schema: "api", name });

Deno.test("ColumnPrivileges remembers 1,000 pairs and evicts the oldest", async () => {
  const { privileges } = privilegesOf({ a: ["id"] });
  await privileges.read("r", [relation("a")]);
  deepStrictEqual(privileges.recall("r", relation("a")), new Set(["id"]));
  strictEqual(privileges.recall("other", relation("a")), undefined);
  const others = Array.from({ length: 999 }, (_, index) => relation(`t${index}`));
  await privileges.read("r", others);
  deepStrictEqual(privileges.recall("r", relation("a")), new Set(["id"]));
  await privileges.read("r", [relation("last")]);
  strictEqual(privileges.recall("r", relation("a")), undefined);
  deepStrictEqual(privileges.recall("r", relation("t0")), new Set());
});

Deno.test("RoleColumns reads the unknown columns of all relations at once", async () => {
  const { privileges, transactions } = privilegesOf({ a: ["id"], b: ["id", "x"] });
  const columns = new RoleColumns(privileges, "r");
  strictEqual(await columns.readUnknown(), false);
  strictEqual(columns.of(relation("a")), null);
  strictEqual(columns.of(relation("b")), null);
  strictEqual(await columns.readUnknown(), true);
  deepStrictEqual(columns.of(relation("b")), new Set(["id", "x"]));
  strictEqual(await columns.readUnknown(), false);
  deepStrictEqual(new RoleColumns(privileges, "r").of(relation("a")), new Set(["id"]));
  strictEqual(transactions.length, 1);
});

Deno.test("ColumnPrivileges.forget() forgets the columns of one role", async () => {
  const { privileges } = privilegesOf({ a: ["id"] });
  for (const role of ["r", "r2"]) await privileges.read(role, [relation("a")]);
  privileges.forget("r");
  strictEqual(privileges.recall("r", relation("a")), undefined);
  deepStrictEqual(privileges.recall("r2", relation("a")), new Set(["id"]));
});

Deno.test("RoleColumns leaves the columns of a role that does not exist unknown", async () => {
  const failure = { sqlstate: "42704", message: "no role", detail: null, hint: null };
  const { privileges, transactions } = privilegesOf(new DatabaseError(failure));
  const columns = new RoleColumns(privileges, "r");
  columns.of(relation("a"));
  strictEqual(await columns.readUnknown(), false);
  strictEqual(columns.of(relation("a")), null);
  strictEqual(await columns.readUnknown(), false);
  strictEqual(transactions.length, 1);
});

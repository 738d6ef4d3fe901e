import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Batch, BatchResult } from "../../../src/database/batch.ts";
import type { Database } from "../../../src/database/database.ts";
import { errors } from "../../../src/errors/catalogue.ts";
import { DatabaseError } from "../../../src/errors/service_error.ts";
import { EarlyPrivilegeCheck } from "../../../src/handler/early_privilege.ts";

type Row = readonly (string | null)[];

/** A check whose database answers with a row or an error; counts the statements. */
function checking(answer: Row | Error) {
  let time = 0;
  const asked: unknown[] = [];
  const database: Pick<Database, "transaction"> = {
    transaction: ({ statements }: Batch) => {
      asked.push(statements.at(-1)!.params);
      if (answer instanceof Error) return Promise.reject(answer);
      const rows = [...statements.slice(1).map(() => []), [answer]];
      return Promise.resolve({ rows } as unknown as BatchResult);
    },
  };
  const check = new EarlyPrivilegeCheck(database, () => time);
  return { asked, check, pass: (milliseconds: number) => void (time += milliseconds) };
}

const insert = { action: { kind: "insert", relation: "a" }, schema: "s" } as const;

async function messageOf(check: Promise<void>): Promise<string | null> {
  try {
    await check;
    return null;
  } catch (error) {
    return error instanceof DatabaseError ? `${error.failure.sqlstate} ${error.message}` : "other";
  }
}

Deno.test("EarlyPrivilegeCheck.check() words the refusal as PostgreSQL does", async () => {
  const rows: readonly (readonly [row: Row, message: string | null])[] = [
    [["t", "t", "table"], null],
    [["t", "f", "table"], "42501 permission denied for table a"],
    [["t", "f", "materialized view"], "42501 permission denied for materialized view a"],
    [["f", "f", "table"], "42501 permission denied for schema s"],
    [["f", "t", "table"], "42501 permission denied for schema s"],
    [[null, null, "function"], null],
    [[], null],
  ];
  for (const [row, message] of rows) {
    strictEqual(await messageOf(checking(row).check.check(insert, "r")), message);
  }
});

Deno.test("EarlyPrivilegeCheck.check() asks once a second for a role and a target", async () => {
  const { asked, check, pass } = checking(["t", "f", "table"]);
  const denied = () => messageOf(check.check(insert, "r"));
  await Promise.all([denied(), denied(), denied()]);
  pass(999);
  strictEqual(await denied(), "42501 permission denied for table a");
  deepStrictEqual(asked, [["r", "s", "a", "insert"]]);
  await messageOf(check.check(insert, "other"));
  await messageOf(check.check({ ...insert, schema: "t" }, "r"));
  await messageOf(check.check({ ...insert, action: { kind: "update", relation: "a" } }, "r"));
  strictEqual(asked.length, 4);
  pass(1);
  await denied();
  strictEqual(asked.length, 5);
});

Deno.test("EarlyPrivilegeCheck.check() forgets verdicts when there are too many", async () => {
  const { asked, check } = checking(["t", "t", "table"]);
  for (let role = 0; role < 5000; role++) await check.check(insert, `role ${role}`);
  await check.check(insert, "role 4999");
  strictEqual(asked.length, 5000);
  await check.check(insert, "role 0");
  strictEqual(asked.length, 5001);
});

Deno.test("EarlyPrivilegeCheck.check() lets a request on whose role the database refuses", async () => {
  const failure = { sqlstate: "42704", message: "no role", detail: null, hint: null };
  const { check } = checking(new DatabaseError(failure));
  strictEqual(await messageOf(check.check(insert, "r")), null);
});

Deno.test("EarlyPrivilegeCheck.check() asks again after a lost connection", async () => {
  const { asked, check } = checking(errors.connectionLost(null));
  await rejects(check.check(insert, "r"), { message: errors.connectionLost(null).message });
  await rejects(check.check(insert, "r"));
  strictEqual(asked.length, 2);
});

Deno.test("EarlyPrivilegeCheck.check() asks nothing for requests without a body", async () => {
  const { asked, check } = checking(["f", "f", "table"]);
  await check.check({ action: { kind: "delete", relation: "a" }, schema: "s" }, "r");
  await check.check(
    { action: { kind: "read", relation: "a", headersOnly: false }, schema: "s" },
    "",
  );
  strictEqual(asked.length, 0);
});

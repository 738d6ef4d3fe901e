import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type {
  ConsoleRelation,
  ConsoleRelationship,
  ConsoleSchema,
} from "../../../../../src/wings/console/server/console_schema.ts";

// Modules of the pages read the address of the page when they are loaded.
Object.defineProperty(globalThis, "location", { value: { hash: "" }, configurable: true });
const pages = "../../../../../src/wings/console/pages";
const { foreignLinks, labelColumn, referencesOf }:
  typeof import("../../../../../src/wings/console/pages/labels.ts") = await import(
    `${pages}/labels.ts`
  );
const { schema }: typeof import("../../../../../src/wings/console/pages/model.ts") = await import(
  `${pages}/model.ts`
);

Reflect.deleteProperty(globalThis, "location");

/** Columns by name with their types; `id` is the key. */
function relation(
  name: string,
  columns: Readonly<Record<string, string>>,
  more: Partial<ConsoleRelation> = {},
): ConsoleRelation {
  return {
    ...{ schema: "api", name, isView: false, primaryKey: ["id"], label: null },
    columns: Object.entries(columns).map(([column, type]) => ({
      ...{ name: column, type, baseType: type, enumLabels: type === "color" ? ["red"] : [] },
    })),
    ...more,
  } as unknown as ConsoleRelation;
}

function reference(
  origin: string,
  foreign: string,
  pairs: ConsoleRelationship["pairs"],
  isForward = true,
): ConsoleRelationship {
  return {
    ...{ origin: ["api", origin], foreign: ["api", foreign], pairs, isForward },
  } as unknown as ConsoleRelationship;
}

const orders = relation("orders", { id: "integer", customer_id: "integer", parent_id: "integer" });
const customers = relation("customers", { id: "integer", name: "text" });
const view = relation("active_customers", { id: "integer", name: "text" }, { isView: true });

function show(relationships: readonly ConsoleRelationship[]): void {
  schema.value = {
    relations: [orders, customers, view],
    relationships,
  } as unknown as ConsoleSchema;
}

const toTable = reference("orders", "customers", [["customer_id", "id"]]);
const toView = reference("orders", "active_customers", [["customer_id", "id"]]);
const toSelf = reference("orders", "orders", [["parent_id", "id"]]);
const back = reference("orders", "customers", [["id", "order_id"]], false);

/** Relationships of `orders`, and the relation that its column `customer_id` leads to. */
const rows: readonly (readonly [string, readonly ConsoleRelationship[], string | null])[] = [
  ["the table alone", [toTable], "customers"],
  ["the table before a view of it", [toTable, toView], "customers"],
  ["the table behind a view of it", [toView, toTable], "customers"],
  ["a view, if there is no table", [toView], "active_customers"],
  ["the own table beside it", [toSelf, toView, toTable], "customers"],
  ["no row that refers to it", [back], null],
];

for (const [label, relationships, name] of rows) {
  Deno.test(`label and link lead to ${label}`, () => {
    show(relationships);
    const found = referencesOf(orders).find(({ column }) => column === "customer_id");
    strictEqual(found?.foreign.name ?? null, name);
    const row = { id: 1, customer_id: 7, parent_id: null };
    strictEqual(foreignLinks(relationships, row).get("customer_id")?.name ?? null, name);
  });
}

Deno.test("a key of several columns leads to its row by all of them", () => {
  const both = reference("orders", "customers", [["customer_id", "id"], ["parent_id", "name"]]);
  const links = foreignLinks([both], { id: 1, customer_id: 7, parent_id: "x" });
  deepStrictEqual([...links.keys()], ["customer_id", "parent_id"]);
  strictEqual(links.get("customer_id")!.href, links.get("parent_id")!.href);
  deepStrictEqual([...foreignLinks([both], { customer_id: 7, parent_id: null })], []);
});

/** Columns of a relation, its tag `@label`, and the column that names its rows. */
const labels:
  readonly (readonly [Readonly<Record<string, string>>, string | null, string | null])[] = [
    [{ id: "integer", name: "text" }, null, "name"],
    [{ id: "text", note: "text" }, null, "note"],
    [{ id: "integer", title: "character varying(80)", name: "text" }, null, "title"],
    [{ id: "integer", title: "text", name: "text" }, "name", "name"],
    [{ id: "integer", title: "text" }, "gone", "title"],
    [{ id: "integer", kind: "color", n: "numeric" }, null, null],
  ];

for (const [columns, label, expected] of labels) {
  Deno.test(`${expected} names rows of ${Object.keys(columns)} with @label ${label}`, () => {
    strictEqual(labelColumn(relation("things", columns, { label })), expected);
  });
}

/** `examples/orders`: an import that can be repeated. */
import { deepStrictEqual, rejects } from "node:assert/strict";
import { type ForeignOrder, importOrders } from "../../examples/orders/import_orders.ts";
import { createHandler } from "../../mod.ts";

const origin = "http://localhost:3000";
const ada = { name: "Ada", email: "ada@example.org" };
const orders: readonly ForeignOrder[] = [
  {
    number: "F-1",
    customers: ada,
    lines: [{ sku: "A", quantity: 2 }, { sku: "B", quantity: 1 }],
    labels: [{ name: "gift" }, { name: "urgent" }],
  },
  {
    number: "F-2",
    customers: ada,
    lines: [{ sku: "A", quantity: 1 }],
    labels: [{ name: "gift" }],
  },
];

Deno.test("the example imports orders once, although it is repeated", async () => {
  const handler = createHandler({
    dbUri: "pglite://memory",
    dbSchemas: ["api"],
    dbAnonRole: "shop",
    embeddedInit: await Deno.readTextFile(
      new URL("../../examples/orders/orders.sql", import.meta.url),
    ),
  });
  const read = async (path: string) =>
    await (await handler(new Request(`${origin}${path}`))).json();
  try {
    const send = (request: Request) => handler(request);
    await importOrders(origin, orders.slice(0, 1), send);
    await importOrders(origin, orders, send);
    await importOrders(origin, orders, send);
    const select = "number,customers(name,email),lines(sku,quantity),labels(name)";
    deepStrictEqual(
      await read(`/orders?select=${select}&order=number&lines.order=sku&labels.order=name`),
      orders,
    );
    deepStrictEqual(await read("/labels?select=name&order=name"), [
      { name: "gift" },
      { name: "urgent" },
    ]);
    const wrong = { ...orders[0]!, number: "F-3", lines: [{ sku: "C", quantity: 0 }] };
    await rejects(importOrders(origin, [wrong], send), /quantity_check/);
    deepStrictEqual(await read("/orders?number=eq.F-3"), []);
  } finally {
    await handler.close();
  }
});

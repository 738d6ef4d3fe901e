/** `examples/orders`: an order with its lines, over a network that loses answers. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { type Order, placeOrder } from "../../examples/orders/place_order.ts";
import { createHandler } from "../../mod.ts";

const origin = "http://localhost:3000";
const order: Order = {
  customerId: 3,
  lines: [{ sku: "A", quantity: 2 }, { sku: "B", quantity: 1 }],
};

Deno.test("the example places an order once, although answers are lost", async () => {
  const handler = createHandler({
    dbUri: "pglite://memory",
    dbSchemas: ["api"],
    dbAnonRole: "shop",
    batchMaxOperations: 10,
    idempotencyTable: { schema: "svc", name: "idempotency_keys" },
    embeddedInit: await Deno.readTextFile(
      new URL("../../examples/orders/orders.sql", import.meta.url),
    ),
  });
  try {
    let losses = 2;
    const send = async (request: Request) => {
      const response = await handler(request);
      if (losses-- > 0) throw new TypeError("the connection was lost");
      return response;
    };
    deepStrictEqual(await placeOrder(origin, order, send), {
      id: 1,
      status: "new",
      lines: order.lines,
    });
    const orders = await handler(new Request(`${origin}/orders?select=id,lines(sku)`));
    deepStrictEqual(await orders.json(), [{ id: 1, lines: [{ sku: "A" }, { sku: "B" }] }]);
    const refused = { ...order, lines: [{ sku: "A", quantity: 0 }] };
    await rejects(placeOrder(origin, refused, (request) => handler(request)), /quantity_check/);
    const after = await handler(new Request(`${origin}/orders?select=id`));
    strictEqual((await after.json()).length, 1);
  } finally {
    await handler.close();
  }
});

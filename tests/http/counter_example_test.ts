/** `examples/counter`: fifty clients that count at once. */
import { strictEqual } from "node:assert/strict";
import { increment } from "../../examples/counter/count.ts";
import { createHandler } from "../../mod.ts";
import { engines } from "../support/engines.ts";

const origin = "http://localhost:3000";

Deno.test("the example's counter has the sum of what fifty clients added", async () => {
  const database = await engines.pg({ name: "examples/counter/counter.sql", roles: [] });
  const handler = createHandler({
    dbUri: database.uri,
    dbSchemas: ["api"],
    dbAnonRole: "counting",
    dbPool: 10,
  });
  try {
    const send = (request: Request) => handler(request);
    const client = async (index: number) => {
      const seen = new Set<number>();
      for (let round = 0; round < 20; round++) {
        seen.add(await increment(origin, "visits", 1 + index % 3, send));
      }
      return seen.size;
    };
    const clients = Array.from({ length: 50 }, (_, index) => index);
    const seen = await Promise.all(clients.map(client));
    strictEqual(seen.every((count) => count === 20), true);
    const expected = clients.reduce((sum, index) => sum + 20 * (1 + index % 3), 0);
    strictEqual(await increment(origin, "visits", 0, send), expected);
  } finally {
    await handler.close();
    await database.remove();
  }
});

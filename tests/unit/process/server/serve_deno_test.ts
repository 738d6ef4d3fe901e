import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import type { ConnectionLimits } from "../../../../src/process/server/connection_table.ts";
import { start } from "../../../../src/process/server/serve_deno.ts";

const limits: ConnectionLimits = {
  keys: ["server-idle-timeout"],
  headerTimeoutMs: 0,
  idleTimeoutMs: 30_000,
  maxConnections: 0,
};

/** Serves one request; returns its body and the reported events. */
async function serveOnce(own: ConnectionLimits | null) {
  const events: Observation[] = [];
  const server = await start({
    address: { kind: "tcp", hostname: "127.0.0.1", port: 0, reusePort: false },
    handler: (_request, { client }) => Promise.resolve(new Response(client)),
    onError: () => new Response("error"),
    limits: own,
    observe: (event) => void events.push(event),
  });
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { client });
    return { body: await response.text(), events };
  } finally {
    client.close();
    await server.shutdown();
    await server.finished;
  }
}

Deno.test("start() serves connections itself only if a limit is set", async () => {
  deepStrictEqual(await serveOnce(null), { body: "127.0.0.1", events: [] });
  const { body, events } = await serveOnce(limits);
  strictEqual(body, "127.0.0.1");
  deepStrictEqual(events, [
    { kind: "connection-opened" },
    { kind: "connection-closed", reason: "client" },
  ]);
});

Deno.test("start() serves without limits, and says so, where Deno lacks the function", async () => {
  const runtime = Deno as unknown as { readonly internal: symbol };
  const functions = Reflect.get(runtime, runtime.internal) as Record<string, unknown>;
  const name = "serveHttpOnConnection";
  const found = functions[name];
  ok(found);
  functions[name] = undefined;
  try {
    deepStrictEqual(await serveOnce(limits), {
      body: "127.0.0.1",
      events: [{ kind: "limits-unavailable", keys: ["server-idle-timeout"] }],
    });
  } finally {
    functions[name] = found;
  }
});

/** Limits of connections, against clients that send slowly, not at all, or too much. */
import { match, ok, strictEqual } from "node:assert/strict";
import { HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import type { FileConfig, ServiceProcess } from "../support/server/process.ts";
import { onDeno } from "../support/server/program_command.ts";
import { RawClient } from "../support/clients/raw_client.ts";
import { startTodos } from "../support/server/todos.ts";

const get = requestBytes("GET /todos?limit=1");
const getText = new TextDecoder().decode(get);

async function start(config: FileConfig): Promise<ServiceProcess & { readonly port: number }> {
  const service = await startTodos(config);
  return Object.assign(service, { port: Number(new URL(service.origin).port) });
}

Deno.test("server-header-timeout closes connections without a whole header", async (t) => {
  // A client of a busy machine sends its header later than others.
  await using service = await start({ "server-header-timeout": "2s" });
  /** What a client sends; none of it is a whole header. */
  const starts: Readonly<Record<string, string>> = {
    "nothing": "",
    "half a request line": "GET /tod",
    "half a header": "GET /todos HTTP/1.1\r\nHost: localhost\r\n",
    "half the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\n",
  };
  const readAfter = async (text: string) => {
    using client = await RawClient.connect(service.port);
    await client.send(text);
    return await client.read();
  };
  const answers = Object.entries(starts).map(([name, text]) => [name, readAfter(text)] as const);
  await t.step("one byte at a time", async () => {
    using client = await RawClient.connect(service.port);
    strictEqual(await client.trickle(getText.trimEnd().padEnd(10_000, "x"), 20), false);
  });
  for (const [name, read] of answers) {
    await t.step(name, async () => {
      const answer = await read;
      ok(answer === "" || answer.startsWith("HTTP/1.1 408 "), answer);
    });
  }
  await t.step("a connection with a request stays open", async () => {
    using connection = await HttpConnection.connect(service.port);
    strictEqual((await connection.exchange(get, "GET")).status, 200);
    using silent = await RawClient.connect(service.port);
    await silent.read();
    using later = await RawClient.connect(service.port);
    await later.read();
    strictEqual((await connection.exchange(get, "GET")).status, 200);
  });
});

Deno.test("server-idle-timeout closes connections on which no next request arrives", async (t) => {
  await using service = await start({ "server-idle-timeout": "500ms" });
  const rest: Readonly<Record<string, string>> = {
    "nothing": "",
    "half a header": "GET /todos HTTP/1.1\r\nHost: loc",
  };
  for (const [name, text] of Object.entries(rest)) {
    await t.step(name, async () => {
      using client = await RawClient.connect(service.port);
      await client.send(getText);
      match(await client.read("}]"), /^HTTP\/1\.1 200 /);
      await client.send(text);
      const answer = await client.read();
      ok(answer === "" || answer.startsWith("HTTP/1.1 408 "), answer);
    });
  }
  await t.step("several requests in one write have their answers", async () => {
    using client = await RawClient.connect(service.port);
    await client.send(getText.repeat(5));
    strictEqual((await client.read()).match(/HTTP\/1\.1 200 /g)?.length, 5);
  });
});

Deno.test("server-body-timeout answers 408 to a body that stalls, and closes", async (t) => {
  await using service = await start({
    "server-body-timeout": "300ms",
    "db-anon-role": "todo_user",
  });
  const head = (framing: string) =>
    `POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
  const starts: Readonly<Record<string, string>> = {
    "short": `${head("Content-Length: 100")}{"task"`,
    "long": `${head("Content-Length: 100000")}{"task"`,
    "chunked": `${head("Transfer-Encoding: chunked")}7\r\n{"task"`,
    "without a byte": head("Content-Length: 100"),
  };
  for (const [name, text] of Object.entries(starts)) {
    await t.step(name, async () => {
      using client = await RawClient.connect(service.port);
      await client.send(text);
      const answer = await client.read();
      match(answer, /^HTTP\/1\.1 408 /);
      match(answer, /^connection: close\r$/im);
      match(answer, /"code":"SVC133"/);
    });
  }
  await t.step("the service goes on", async () => {
    strictEqual((await service.fetch("GET /todos?limit=1")).status, 200);
  });
});

Deno.test({
  name: "server-max-connections closes the longest idle connection for a new one",
  // Node closes the new one.
  ...onDeno,
  async fn(t) {
    const max = 5;
    /** Lengths of bodies that the service reads in different ways. */
    const lengths = [2000, 4097, 60_000, 100_000, 8_000_000];
    await using service = await start({
      "server-max-connections": max,
      "db-anon-role": "todo_user",
    });
    await t.step("idle connections give way to new ones", async () => {
      using stack = new DisposableStack();
      const idle: RawClient[] = [];
      for (let count = 0; count < max; count++) {
        const client = stack.use(await RawClient.connect(service.port));
        await client.send(getText);
        await client.read("}]");
        idle.push(client);
      }
      for (const oldest of idle) {
        const connection = stack.use(await HttpConnection.connect(service.port));
        strictEqual((await connection.exchange(get, "GET")).status, 200);
        strictEqual(await oldest.read(), "");
      }
    });
    await t.step("a flood of silent connections leaves room for a client", async () => {
      using stack = new DisposableStack();
      for (let count = 0; count < 200; count++) {
        stack.use(await RawClient.connect(service.port));
        if (count % 20 > 0) continue;
        using connection = await HttpConnection.connect(service.port);
        strictEqual((await connection.exchange(get, "GET")).status, 200);
      }
    });
    await t.step("a new connection waits while all have requests", async () => {
      using stack = new DisposableStack();
      const busy: RawClient[] = [];
      for (let count = 0; count < max; count++) {
        const client = stack.use(await RawClient.connect(service.port));
        await client.send(
          "POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n" +
            "Expect: 100-continue\r\n\r\n",
        );
        // The service reads the body.
        match(await client.read("\r\n\r\n"), /^HTTP\/1\.1 100 /);
        busy.push(client);
      }
      using connection = await HttpConnection.connect(service.port);
      let isAnswered = false;
      const answer = connection.exchange(get, "GET").finally(() => isAnswered = true);
      strictEqual((await service.fetchAdmin("GET /live")).status, 200);
      strictEqual(isAnswered, false);
      busy[0]!.close();
      strictEqual((await answer).status, 200);
    });
    await t.step("uploads that trickle give way when all connections have them", async () => {
      await using stack = new AsyncDisposableStack();
      const slow: Promise<string>[] = [];
      for (let count = 0; count < max; count++) {
        const client = await RawClient.connect(service.port);
        await client.send(
          `POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${lengths[count]}\r\n` +
            "Expect: 100-continue\r\n\r\n",
        );
        match(await client.read("\r\n\r\n"), /^HTTP\/1\.1 100 /);
        const sent = client.trickle(" ".repeat(1000), 100);
        stack.defer(async () => {
          client.close();
          await sent;
        });
        slow.push(client.read());
      }
      using connection = await HttpConnection.connect(service.port);
      strictEqual((await connection.exchange(get, "GET")).status, 200);
      match(await Promise.race(slow), /^HTTP\/1\.1 408 /);
    });
  },
});

Deno.test("limits of connections: hostile clients leave the service as it was", async (t) => {
  await using service = await start({
    "server-header-timeout": 30,
    "server-idle-timeout": 30,
    "server-max-connections": 1000,
  });
  await t.step("resets", async () => {
    for (let count = 0; count < 50; count++) {
      const client = await RawClient.connect(service.port);
      if (count % 2 === 0) await client.send("GET /todos HTTP/1.1\r\n");
      client.close();
    }
  });
  await t.step("bytes of TLS, and others that are not HTTP", async () => {
    for (
      const text of ["\x16\x03\x01\x02\x00\x01\x00", "\0\0\0\0", "GET\r\n\r\n", "é é é\r\n\r\n"]
    ) {
      using client = await RawClient.connect(service.port);
      await client.send(text.repeat(10));
      client.close();
    }
  });
  await t.step("requests, and a shutdown in order", async () => {
    strictEqual((await service.fetch("GET /todos?limit=1")).status, 200);
    strictEqual((await service.fetch("HEAD /todos?limit=1")).status, 200);
    using silent = await RawClient.connect(service.port);
    using idle = await HttpConnection.connect(service.port);
    strictEqual((await idle.exchange(get, "GET")).status, 200);
    await silent.send("GET ");
    strictEqual((await service.stop()).code, 0);
  });
});

Deno.test("limits of connections: a Unix socket has them as well", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_connections_" });
  try {
    const path = `${folder}/api.sock`;
    await using service = await startTodos({
      "log-level": "info",
      "server-unix-socket": path,
      "server-idle-timeout": "500ms",
    });
    using connection = await HttpConnection.connect(path);
    strictEqual((await connection.exchange(get, "GET")).status, 200);
    match(await service.stdout.waitFor(/GET/), /^- - web_anon /);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

import { deepStrictEqual, match } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { freePort } from "../support/server/free_port.ts";
import { type FileConfig, startService } from "../support/server/process.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

/** Heads and begun bodies of requests whose clients leave. */
const uploads: readonly (readonly [line: string, headers: string, body: string])[] = [
  ["POST /items", "Content-Type: application/json\r\nContent-Length: 100", '[{"id":'],
  ["POST /items", "Content-Type: application/json\r\nTransfer-Encoding: chunked", "2\r\n[{\r\n"],
  ["POST /items", "Content-Type: text/csv\r\nContent-Length: 100", "id\n7"],
  ["POST /items", "Content-Type: application/json\r\nContent-Length: 100", ""],
  ["PATCH /items?id=eq.1", "Content-Type: application/json\r\nContent-Length: 9", "{"],
  ["POST /items", "Content-Length: 2000000", `[${'{"id":1},'.repeat(20_000)}`],
];

/** The two ways in which connections are accepted. */
const ways: readonly FileConfig[] = [{}, { "server-header-timeout": 30 }];

for (const limits of ways) {
  Deno.test(`uploads whose client left have the status 499 with ${JSON.stringify(limits)}`, async (t) => {
    const database = await engines.pg(fixture);
    const port = freePort();
    try {
      await using service = await startService({
        "db-uri": database.uri,
        "db-schemas": "api",
        "db-anon-role": "web_anon",
        "server-port": port,
        "log-level": "info",
        ...limits,
      });
      await service.listening();
      for (const [line, headers, body] of uploads) {
        await t.step(`${line} ${headers.replace("\r\n", " ")} ${body.length}`, async () => {
          const after = service.stdout.all.length;
          const connection = await Deno.connect({ hostname: "127.0.0.1", port });
          const text = `${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;
          const bytes = new TextEncoder().encode(text);
          for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
          connection.close();
          const logged = await service.stdout.waitFor(/HTTP\/1\.1" \d+ /, { after });
          match(logged, /HTTP\/1\.1" 499 /);
        });
      }
      const metrics = await (await service.fetchAdmin("GET /metrics")).text();
      const lines = metrics.matchAll(
        /^http_server_request_duration_seconds_count\{.*status_code="(\d+)".*\} (\d+)/gm,
      );
      deepStrictEqual(Array.from(lines, ([, ...found]) => found), [["499", "5"], ["499", "1"]]);
    } finally {
      await database.remove();
    }
  });
}

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { startService } from "../support/server/process.ts";
import { signToken, testSecret } from "../support/handler/token.ts";

const fixture = { name: "serving", roles: ["web_anon"] };

const base = {
  "db-schemas": "api",
  "db-anon-role": "web_anon",
  "server-host": "127.0.0.1",
  "server-health-path": "/-/health",
} as const;

/** Returns the values of a metric by its labels. */
function samples(text: string, name: string): ReadonlyMap<string, number> {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
  return new Map(lines.map((line) => {
    const end = line.lastIndexOf("} ");
    return [line.slice(name.length + 1, end), Number(line.slice(end + 2))];
  }));
}

const counts = "http_server_request_duration_seconds_count";

function labels(method: string, route: string, status: number): string {
  return `http_request_method="${method}",http_route="${route}",` +
    `http_response_status_code="${status}"`;
}

/** Resolves with the complaints of promtool, or null if it is not installed. */
async function lint(metrics: string): Promise<string | null> {
  try {
    const child = new Deno.Command("promtool", {
      args: ["check", "metrics"],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(metrics));
    await writer.close();
    const { code, stdout, stderr } = await child.output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return code === 0 ? "" : text || String(code);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

Deno.test("/metrics counts every request that was sent", async (t) => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService({
      ...base,
      "db-uri": database.uri,
      "jwt-secret": testSecret,
      "etag-mode": "on",
    });
    await service.listening();
    const token = await signToken({ role: "web_anon" });
    const unseen = { "If-Match": '"unseen"' };
    const sent = [
      ["GET /items?id=eq.1", 3, "/items", 200],
      ["HEAD /items", 1, "/items", 200],
      ["POST /items", 1, "/items", null],
      ["GET /it%65ms", 1, "/items", 200],
      ["GET /-/health", 2, "_health", 200],
      ["GET /-/health/live", 1, "_health", 200],
      ["POST /-/health", 1, "_health", 405],
      ["GET /nothing", 2, "_unknown", 404],
      ["GET /rpc/nothing", 1, "_unknown", 404],
      ["BREW /items", 1, "/items", 405],
      ["OPTIONS /items", 1, "/items", 200],
      ["GET /", 1, "/", 200],
      ["GET /items?id=eq.1", 2, "/items", 412, unseen],
    ] as const;
    const expected = new Map<string, number>();
    for (const [line, times, route, status, condition = {}] of sent) {
      for (let time = 0; time < times; time++) {
        const headers = { Authorization: `Bearer ${token}`, ...condition };
        const body = line.startsWith("POST") ? { body: {} } : {};
        const response = await service.fetch(line, { headers, ...body });
        if (status !== null) strictEqual(response.status, status, line);
        const method = line.startsWith("BREW") ? "_OTHER" : line.slice(0, line.indexOf(" "));
        const key = labels(method, route, response.status);
        expected.set(key, (expected.get(key) ?? 0) + 1);
      }
    }
    const text = await (await service.fetchAdmin("GET /metrics")).text();

    await t.step("by method, route and status", () => {
      deepStrictEqual(
        new Map([...samples(text, counts)].toSorted()),
        new Map([...expected].toSorted()),
      );
    });
    await t.step("and says what the process and the pool do", () => {
      match(text, /^http_server_active_requests 0\.0$/m);
      match(text, /^process_cpu_seconds_total \d/m);
      match(text, /^process_resident_memory_bytes [1-9]\d{6,}/m);
      match(text, /^process_start_time_seconds 1\d{9}/m);
      if (Deno.build.os === "linux") match(text, /^process_open_fds [1-9]/m);
      match(text, /^svc_build_info\{version="[^"]+",dialect="svc",postgres="\d+[^"]*"\} 1\.0$/m);
      match(text, /^svc_db_pool_in_use 0\.0$/m);
      match(text, /^svc_db_pool_queue_seconds_count [1-9]/m);
      match(text, /^svc_precondition_failed_total 2\.0$/m);
    });
    await t.step("in the format that promtool checks", async () => {
      const complaints = await lint(text);
      if (complaints === null) return console.warn("promtool is not installed, nothing is checked");
      strictEqual(complaints, "");
    });
    await t.step("with few series however many paths clients make up", async () => {
      const before = text.length;
      for (let index = 0; index < 500; index++) await service.fetch(`GET /made-up-${index}"\n`);
      const after = await (await service.fetchAdmin("GET /metrics")).text();
      strictEqual(samples(after, counts).get(labels("GET", "_unknown", 404)), 503);
      ok(after.length < before + 1000, `${before} ${after.length}`);
      ok(!after.includes("made-up"));
    });
  } finally {
    await database.remove();
  }
});

Deno.test("log-format = json writes one valid object per line for whatever clients send", async (t) => {
  const database = await engines.pg(fixture);
  try {
    await using service = await startService({
      ...base,
      "db-uri": database.uri,
      "jwt-secret": testSecret,
      "log-level": "info",
      "log-format": "json",
      "log-query": true,
      "log-query-string": false,
      "server-request-id-header": "X-Request-Id",
    });
    await service.listening();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const request = {
      headers: {
        "X-Request-Id": "one",
        "User-Agent": 'a "b" \\ ü',
        Referer: "https://a.example/?x=y",
        traceparent,
      },
    };
    await service.fetch("GET /items?id=eq.1", request);
    await service.fetch("GET /nothing?secret=eq.2", { headers: { "X-Request-Id": "two" } });
    await service.fetch("GET /items", {
      headers: { "X-Request-Id": "three", Authorization: "Bearer x" },
    });
    await service.stdout.waitFor(/"request_id":"three"/);

    await t.step("on standard output, requests", () => {
      const lines = service.stdout.all.map((line) => JSON.parse(line));
      const [first, second, third] = ["one", "two", "three"].map((id) =>
        lines.find(({ request_id }) => request_id === id)
      );
      deepStrictEqual(
        Object.keys(first),
        [
          ...["time", "level", "client", "role", "method", "target", "route", "protocol"],
          ...["status", "bytes", "duration_ms", "queue_ms", "db_ms", "referer", "user_agent"],
          ...["request_id", "trace_id", "span_id"],
        ].filter((name) => name !== "code"),
      );
      strictEqual(first.target, "/items");
      strictEqual(first.trace_id, traceparent.slice(3, 35));
      ok(first.duration_ms >= first.db_ms && first.db_ms > 0 && first.queue_ms >= 0);
      deepStrictEqual(
        [second.code, second.status, second.level, second.route, second.target],
        ["SVC205", 404, "warn", "_unknown", "/nothing"],
      );
      deepStrictEqual([third.code, third.status, "role" in third], ["SVC301", 401, false]);
    });

    await t.step("on standard error, everything else", async () => {
      await service.stderr.waitFor(/"event":"query"/);
      const lines = service.stderr.all.map((line) => JSON.parse(line));
      for (const line of lines) {
        deepStrictEqual(Object.keys(line).slice(0, 4), ["time", "level", "event", "message"]);
        match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      }
      const [starting] = lines;
      deepStrictEqual([starting.event, starting.level], ["starting", "info"]);
      ok(lines.some(({ event, what }) => event === "listening" && what === "api"));
    });

    await t.step("and as text after a reload", async () => {
      const config = await Deno.readTextFile(service.configPath);
      await Deno.writeTextFile(service.configPath, config.replace('"json"', '"text"'));
      service.signal("SIGUSR2");
      await service.stderr.waitFor(/^\d\d\/\w{3}\/\d{4}:.*Config reloaded/);
      await service.fetch("GET /items?id=eq.1");
      await service.stdout.waitFor(/"GET \/items HTTP\/1\.1" 200/);
    });
  } finally {
    await database.remove();
  }
});

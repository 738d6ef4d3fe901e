/** Rate limits of the process: exact counts under load, the log, metrics, and nginx as a proxy. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../support/server/free_port.ts";
import { type FileConfig, startCommand, startService } from "../support/server/process.ts";

const todos = new URL("../../examples/todos/todos.sql", import.meta.url).pathname;

const config: FileConfig = {
  "db-uri": "pglite://memory",
  "db-embedded-init": todos,
  "db-schemas": "api",
  "db-anon-role": "web_anon",
  "log-level": "info",
};

Deno.test("a policy admits its count exactly, whatever arrives at once", async () => {
  await using service = await startService({
    ...config,
    "rate-limits": "a: 100/1d by ip on /todos; never: 100000/1s by all",
  });
  await service.listening();
  const statuses = new Map<number, number>();
  const client = async () => {
    for (let time = 0; time < 20; time++) {
      const response = await fetch(`${service.origin}/todos?limit=1`);
      await response.body?.cancel();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, client));
  deepStrictEqual([...statuses].sort(), [[200, 100], [429, 300]]);
  const metrics = await (await service.fetchAdmin("GET /metrics")).text();
  match(metrics, /^svc_rate_limited_total\{policy="a"\} 300\.0$/m);
  strictEqual(/policy="never"/.test(metrics), false);
});

Deno.test("a reload by signal keeps the counts", async () => {
  await using service = await startService({ ...config, "rate-limits": "a: 2/1d by ip" });
  await service.listening();
  const get = async () => (await service.fetch("GET /todos?limit=1")).status;
  strictEqual(await get(), 200);
  const text = await Deno.readTextFile(service.configPath);
  await Deno.writeTextFile(service.configPath, text.replace("2/1d", "3/1d"));
  service.signal("SIGUSR2");
  await service.stderr.waitFor(/Config reloaded/);
  // The first request has used half of a day, which is more than a third of the new policy's count.
  deepStrictEqual([await get(), await get(), await get()], [200, 429, 429]);
});

async function hasNginx(): Promise<boolean> {
  try {
    return (await new Deno.Command("nginx", { args: ["-v"], stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

/** An nginx whose upstream connections come from 127.0.0.2. */
function nginxConf(folder: string, { port, upstream }: { port: number; upstream: string }): string {
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_bind 127.0.0.2;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_pass ${upstream};
    }
  }
}
`;
}

Deno.test({
  name: "the client behind nginx is the address that nginx names",
  ignore: Deno.build.os !== "linux" || !await hasNginx(),
  async fn() {
    await using service = await startService({
      ...config,
      "server-host": "127.0.0.1",
      "server-trusted-proxies": "127.0.0.2",
      "rate-limits": "a: 2/1d by ip",
    });
    await service.listening();
    const folder = await Deno.makeTempDir({ prefix: "svc_nginx_" });
    const port = freePort();
    const conf = join(folder, "nginx.conf");
    await Deno.writeTextFile(conf, nginxConf(folder, { port, upstream: service.origin }));
    const nginx = startCommand(["nginx", "-p", folder, "-c", conf]);
    try {
      const get = async (headers: Readonly<Record<string, string>>, origin: string) => {
        const response = await fetch(`${origin}/todos?limit=1`, { headers });
        await response.body?.cancel();
        return response.status;
      };
      const proxied = `http://127.0.0.1:${port}`;
      await untilOpen(port);
      // nginx appends the address of its own client, and passes Forwarded on.
      strictEqual(await get({ "X-Forwarded-For": "203.0.113.1" }, proxied), 200);
      strictEqual(await get({ "X-Forwarded-For": "203.0.113.2" }, proxied), 200);
      strictEqual(await get({ "X-Forwarded-For": "203.0.113.3" }, proxied), 429);
      strictEqual(await get({ "X-Forwarded-For": "203.0.113.4" }, service.origin), 429);
      const forged = { Forwarded: "for=203.0.113.5" };
      deepStrictEqual([await get(forged, proxied), await get(forged, proxied)], [200, 200]);
      strictEqual(await get({ Forwarded: "for=203.0.113.6" }, proxied), 429);
      await service.stop();
      const clients = service.stdout.all.filter((line) => line.includes("GET /todos"))
        .map((line) => line.split(" ", 1)[0]);
      ok(clients.length >= 7);
      deepStrictEqual(clients.slice(0, 4), ["127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"]);
      deepStrictEqual(clients.slice(4, 7), ["127.0.0.2", "127.0.0.2", "127.0.0.2"]);
    } finally {
      await nginx.stop();
      await nginx[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
  }
}

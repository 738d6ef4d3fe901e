import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { programFolder } from "../support/server/program.ts";
import { startService } from "../support/server/process.ts";

/** An upstream that has another name for item 2. */
function startUpstream(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    const id = Number(/id=eq\.(\d+)/.exec(url)?.[1]);
    return Response.json([{ name: id === 2 ? "other" : `item ${id}` }], {
      headers: {
        "Content-Type": "application/json; charset=utf-8",
        "Content-Range": "0-0/*",
        "Content-Location": `/item${new URL(url).search}`,
      },
    });
  });
}

Deno.test("svc shadow compares the answers of another server", async (t) => {
  await using database = new AsyncDisposableStack();
  const { uri, remove } = await engines.pg({ name: "shadow", roles: ["anon"] });
  database.defer(remove);
  await using server = startUpstream();
  const upstream = `http://127.0.0.1:${server.addr.port}`;
  const config = { "db-uri": uri, "db-schemas": "api", "db-anon-role": "anon", dialect: "pgrst" };
  await t.step("serves, and reports at its end", async () => {
    const args = ["shadow", "--upstream", upstream];
    await using service = await startService(config, { args });
    await service.listening();
    for (const id of [1, 2, 3]) {
      const response = await service.fetch(`GET /item?id=eq.${id}&select=name`);
      deepStrictEqual(await response.json(), [{ name: id === 2 ? "other" : `item ${id}` }]);
    }
    await service.fetch("DELETE /item?id=eq.1");
    strictEqual((await service.stop("SIGINT")).code, 0);
    await service.stdout.ended;
    match(
      service.stdout.all.join("\n"),
      /^Your 4 requests: (1 shape differs|no shapes differ)\n {2}\d reads compared, \d not compared, 1 other requests$/m,
    );
  });
  await using folder = await programFolder();
  const text = Object.entries(config).map(([key, value]) => `${key} = "${value}"\n`).join("");
  await folder.write("svc.conf", text);
  const line = (id: number) =>
    `127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /item?id=eq.${id}&select=name HTTP/1.1" 200 1\n`;
  const logs: readonly (readonly [label: string, text: string, code: number, out: RegExp])[] = [
    ["a log without differences", line(1) + line(3), 0, /^Your 2 requests: no shapes differ$/m],
    [
      "a log with a difference",
      line(1) + line(2),
      1,
      /^ {2}GET \/item\?id=eq\.2&select=name\n {4}\[\]\.name: upstream "other", svc "item 2"$/m,
    ],
    [
      "a log without reads",
      "x\n",
      2,
      /^svc: cannot compare access\.log: no read has two answers$/m,
    ],
  ];
  for (const [label, log, expected, output] of logs) {
    await t.step(label, async () => {
      await folder.write("access.log", log);
      const args = ["shadow", "--upstream", upstream, "--log", "access.log", "svc.conf"];
      const { code, stdout, stderr } = await folder.run(args);
      strictEqual(code, expected);
      match(stdout + stderr, output);
    });
  }
  for (
    const [args, message] of [
      [[], "expected --upstream URL, such as http://postgrest:3000"],
      [["--upstream", "postgrest:3000"], "expected --upstream URL, such as http://postgrest:3000"],
      [["--upstream", upstream, "--token", "x"], "--token needs --log FILE"],
      [["--upstream", upstream, "--sample", "0"], "expected --sample N with 0 < N <= 100"],
    ] as const
  ) {
    await t.step(`arguments: ${args.slice(2).join(" ") || args[1] || "none"}`, async () => {
      const { code, stderr } = await folder.run(["shadow", ...args, "svc.conf"]);
      deepStrictEqual([code, stderr], [2, `svc: ${message}\n`]);
    });
  }
});

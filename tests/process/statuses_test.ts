import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { startService } from "../support/server/process.ts";

const lineEnd = "\r\n";

/** Sends two requests over one connection, the second of which shows that the first one ended. */
async function exchange(port: number, lines: readonly string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const closing = (index: number) =>
    index === lines.length - 1 ? `Connection: close${lineEnd}` : "";
  const requests = lines.map((line, index) =>
    [`${line} HTTP/1.1`, "Host: x", `${closing(index)}${lineEnd}`].join(lineEnd)
  );
  await connection.write(new TextEncoder().encode(requests.join("")));
  return await new Response(connection.readable).text();
}

/** The statuses of answers on one connection. */
function statusLines(text: string): readonly string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!);
}

Deno.test("no status that database code sets leaves a client waiting", async (t) => {
  const database = await engines.pg({ name: "overrides", roles: ["anon", "writer"] });
  {
    await using service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "anon",
      "db-pool": 2,
    });
    await service.listening();
    const port = Number(new URL(service.origin).port);
    const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);

    for (const method of ["GET", "HEAD"]) {
      await t.step(`${method}, each status`, async () => {
        const lines = [
          ...statuses.map((status) => `${method} /rpc/respond?status=${status}`),
          "GET /notes?select=id&limit=1",
        ];
        const answers = statusLines(await exchange(port, lines));
        const sent = statuses.map((status) => String(status === 205 ? 204 : status));
        deepStrictEqual(answers, [...sent, "200"]);
      });
    }

    await t.step("the end of each answer can be seen in its head", async () => {
      for (const status of [200, 204, 205, 299, 304, 418, 599]) {
        const text = await exchange(port, [`GET /rpc/respond?status=${status}`]);
        const bodiless = [204, 205, 304].includes(status);
        match(text, bodiless ? /^HTTP\/1\.1 (?:204|304) / : /content-length: 6/i);
        strictEqual(text.endsWith(bodiless ? `${lineEnd}${lineEnd}` : '"done"'), true, text);
      }
    });

    await t.step("a standard status has its phrase", async () => {
      match(await exchange(port, ["GET /rpc/teapot"]), /^HTTP\/1\.1 418 I'm a teapot\r\n/i);
    });
  }
  await database.remove();
});

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { engines } from "../support/database/engines.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { freePort } from "../support/server/free_port.ts";
import { startDeno } from "../support/server/process.ts";

const file = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

Deno.test("examples/app signs users up, and shows them their own notes", async () => {
  const folder = await Deno.makeTempDir({ prefix: "svc_app_" });
  try {
    const port = freePort();
    const origin = `http://127.0.0.1:${port}`;
    const env = { PORT: String(port), DB_URI: `pglite://${folder}/data` };
    {
      await using app = startDeno(["run", "-A", file("examples/app/app.ts")], { env });
      await app.stdout.waitFor(/^Listening on/, { seconds: 120 });
      await checkApplication(origin);
      await app.stop("SIGTERM");
    }
    const types = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", file("main.ts"), "--types", "--db-schemas=api", `--db-uri=${env.DB_URI}`],
    }).output();
    match(new TextDecoder().decode(types.stdout), /\n {6}notes: \{\n {8}Row: \{\n/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("examples/app serves a database that psql filled", async () => {
  const roles = ["web_anon", "web_user", "anon", "writer"];
  const database = await engines.pg({ name: "preferences", roles });
  try {
    const sql = "drop schema api cascade;" +
      await Deno.readTextFile(file("examples/app/notes.sql"));
    const secret = "a-secret-of-32-characters-or-more";
    await withClient(
      database.superuserUri!,
      (client) => client.query(sql.replace(":'secret'", `'${secret}'`)),
    );
    const port = freePort();
    const env = { PORT: String(port), DB_URI: database.uri, JWT_SECRET: secret };
    await using app = startDeno(["run", "-A", file("examples/app/app.ts")], { env });
    await app.stdout.waitFor(/^Listening on/, { seconds: 120 });
    await checkApplication(`http://127.0.0.1:${port}`);
  } finally {
    await database.remove();
  }
});

async function checkApplication(origin: string): Promise<void> {
  const send = async (method: string, path: string, token?: string, body?: object) => {
    const response = await fetch(`${origin}/api${path}`, {
      method,
      headers: {
        "Content-Type": "application/json",
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, answer: text === "" ? null : JSON.parse(text) };
  };
  const page = await fetch(`${origin}/`);
  match(await page.text(), /<title>Notes<\/title>/);
  strictEqual((await send("GET", "/")).status, 200);
  const ada = { name: "ada", password: "lovelace1" };
  const grace = { name: "grace", password: "hopper-12" };
  await send("POST", "/rpc/sign_up", undefined, ada);
  const [first, second] = [
    (await send("POST", "/rpc/login", undefined, ada)).answer.token,
    (await send("POST", "/rpc/sign_up", undefined, grace)).answer.token,
  ];
  strictEqual((await send("POST", "/rpc/sign_up", undefined, ada)).status, 409);
  const wrong = { ...ada, password: "guessing" };
  strictEqual((await send("POST", "/rpc/login", undefined, wrong)).status, 401);
  strictEqual((await send("POST", "/notes", first, { text: "learn SQL" })).status, 201);
  strictEqual((await send("POST", "/notes", second, { text: "x", owner: "ada" })).status, 403);
  deepStrictEqual((await send("GET", "/notes?select=owner,text", first)).answer, [
    { owner: "ada", text: "learn SQL" },
  ]);
  deepStrictEqual((await send("GET", "/notes", second)).answer, []);
  strictEqual((await send("DELETE", "/notes?id=eq.1", second)).status, 204);
  strictEqual((await send("GET", "/notes", first)).answer.length, 1);
  strictEqual((await send("GET", "/notes")).status, 401);
}

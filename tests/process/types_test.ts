import { match, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { engines } from "../support/database/engines.ts";

const root = new URL("../..", import.meta.url).pathname;

/** What `deno` says on stdout, or on stderr when it fails. */
async function deno(...args: readonly string[]): Promise<{ code: number; text: string }> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], env: { NO_COLOR: "1" } });
  const { code, stdout, stderr } = await command.output();
  return { code, text: new TextDecoder().decode(code === 0 ? stdout : stderr) };
}

/** Each line that is said to be an error has to be one, and no other. */
const client = `
import { PostgrestClient } from "@supabase/postgrest-js";
import type { Database, Json } from "./database.ts";

function same<A>(): <B>(value: B, ...unequal: Equal<A, B> extends true ? [] : [never]) => void {
  return () => {};
}
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

const client = new PostgrestClient<Database, {}, "api">("http://localhost", { schema: "api" });

const { data } = await client.from("task").select("title, meta, owner(name)").single();
same<string>()(data!.title);
same<Json | null>()(data!.meta);
same<string | null>()(data!.owner!.name);

const owners = await client.from("owner").select("id, task(id, state)");
same<"open" | "done" | null>()(owners.data![0]!.task[0]!.state);

await client.from("task").insert({ id: 1, state: "done" });
await client.from("task").update({ title: "new" }).eq("id", 1);
await client.from("open_task").insert({ title: "new" });
const counted = await client.rpc("volatile_one", { a: 1 });
same<number>()(counted.data!);
const rows = await client.rpc("rows_of", { state: "open" });
same<number>()(rows.data![0]!.x);
await client.rpc("overloaded", { a: 1, b: "done" });
await client.schema("odd").from("a.b").select();

// @ts-expect-error: no such relation
client.from("nowhere");
// @ts-expect-error: the key is required
client.from("task").insert({ title: "new" });
// @ts-expect-error: no such label
client.from("task").insert({ id: 1, state: "lost" });
// @ts-expect-error: generated
client.from("defaults").insert({ d_always: 1 });
// @ts-expect-error: the view cannot be written
client.from("task_count").insert({ tasks: 1 });
// @ts-expect-error: not a number
client.rpc("volatile_one", { a: "x" });
// @ts-expect-error: not a number
same<string>()(counted.data!);
`;

Deno.test("--types writes what typed clients take", async () => {
  const database = await engines.pg({ name: "openapi", roles: ["anon", "writer"] });
  const folder = await Deno.makeTempDir();
  try {
    const config = join(folder, "svc.conf");
    const lines = [`db-uri = ${JSON.stringify(database.uri)}`, 'db-schemas = "api, other, odd"'];
    await Deno.writeTextFile(config, lines.join("\n"));
    const { code, text } = await deno("run", "-A", join(root, "main.ts"), config, "--types");
    strictEqual(code, 0, text);
    match(text, /^ {6}\/\*\*\n {7}\* Tasks\n {7}\*\n {7}\* Things to do\n {7}\*\/\n {6}task: \{$/m);
    await Deno.writeTextFile(join(folder, "database.ts"), text);
    await Deno.writeTextFile(join(folder, "client.ts"), client);
    const checked = await deno(
      "check",
      `--config=${join(root, "tests/deno.json")}`,
      join(folder, "client.ts"),
    );
    strictEqual(checked.code, 0, checked.text);
  } finally {
    await Deno.remove(folder, { recursive: true });
    await database.remove();
  }
});

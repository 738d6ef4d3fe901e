/** Queries of a typed client, checked by the compiler against what `--types` writes. */
import { strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { engines } from "../support/database/engines.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Each line that is announced as an error has to be one, and no other. */
const probe = `
import { PostgrestClient } from "@supabase/postgrest-js";
import { type CompositeTypes, Constants, type Database, type Enums, type Tables, type TablesInsert, type TablesUpdate } from "./database.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function same<A>(): <B>(value: B, ...unequal: Equal<A, B> extends true ? [] : [never]) => void {
  return () => {};
}
type Simple<T> = T extends object ? { [Key in keyof T]: Simple<T[Key]> } : T;
function simply<T>(value: T): Simple<T> {
  return value as Simple<T>;
}

const client = new PostgrestClient<Database, {}, "api">("http://localhost", { schema: "api" });
type State = "new" | "used" | "worn out";
type Size = { width: number | null; height: number | null };
type Tool = {
  id: number;
  name: string;
  maker_id: number | null;
  state: State;
  price: number | null;
  size: Size | null;
  doubled: number | null;
};

export async function selects() {
  // All columns are those of the table: computed ones have to be named.
  const all = await client.from("tools").select().single();
  same<Tool>()(simply(all.data!));
  const star = await client.from("tools").select("*, shout").single();
  same<Simple<Tool & { shout: string | null }>>()(simply({ ...star.data! }));

  // Computed columns, with an alias, and below an embed.
  const computed = await client.from("tools").select("loud:shout, is_dear").single();
  same<string | null>()(computed.data!.loud);
  same<boolean | null>()(computed.data!.is_dear);
  const deep = await client.from("makers").select("maker_size, tools(name, shout)").single();
  same<Size | null>()(simply(deep.data!.maker_size));
  same<string | null>()(deep.data!.tools[0]!.shout);

  // Embeds: many-to-one, one-to-many, one-to-one both ways, many-to-many, by hint, inner, spread.
  const one = await client.from("tools").select("name, makers(name, city)").single();
  same<{ name: string; city: string | null } | null>()(one.data!.makers);
  const inner = await client.from("tools").select("makers!inner(name)").single();
  same<{ name: string }>()(inner.data!.makers);
  const hinted = await client.from("tools").select("by:makers!tools_maker_id_fkey(name)").single();
  same<string>()(hinted.data!.by!.name);
  const manual = await client.from("tools").select("manuals(pages)").single();
  same<{ pages: number | null } | null>()(manual.data!.manuals);
  const back = await client.from("manuals").select("tools(name)").single();
  same<string>()(back.data!.tools.name);
  const many = await client.from("sheds").select("tools(name), tool_sheds(qty)").single();
  same<string>()(many.data!.tools[0]!.name);
  same<number>()(many.data!.tool_sheds[0]!.qty);
  const spread = await client.from("tools").select("name, ...makers(city)").single();
  same<string | null>()(spread.data!.city);

  // @ts-expect-error: no such relationship
  same<string>()(all.data!.makers.name);
}

export async function computedRelationships() {
  const { data } = await client.from("makers").select("dear_tools(name), newest(name)").single();
  same<{ name: string }[]>()(data!.dear_tools);
  same<{ name: string } | null>()(data!.newest);
  const home = await client.from("tools").select("home(title), related(city)").single();
  // Without SETOF the row is there, perhaps with NULL in all columns.
  same<{ title: string | null }>()(home.data!.home);
  same<{ city: string | null } | null>()(home.data!.related);
  const sheds = await client.from("sheds").select("related(name)").single();
  same<{ name: string }[]>()(sheds.data!.related);
  const nested = await client.from("makers").select("newest(makers(name), shout)").single();
  same<string | null>()(nested.data!.newest!.shout);
  same<string>()(nested.data!.newest!.makers!.name);
}

export async function calls() {
  same<number>()((await client.rpc("add", { a: 1 })).data!);
  same<string>()((await client.rpc("now_text")).data!);
  same<string>()((await client.rpc("echo", { "": "x" })).data!);
  const rows = await client.rpc("tools_of", { maker: 1 });
  same<Tool>()(simply(rows.data![0]!));
  const embedded = await client.rpc("tools_of", { maker: 1 }).select("name, shout, makers(name)");
  same<string | null>()(embedded.data![0]!.shout);
  same<string>()(embedded.data![0]!.makers!.name);
  const first = await client.rpc("first_tool").select("id, manuals(pages)");
  same<number>()(first.data![0]!.id);
  const single = await client.rpc("one_tool", { tool: 1 });
  same<Tool>()(simply(single.data!));
  const prices = await client.rpc("prices");
  same<{ name: string; price: number }>()(prices.data![0]!);
  same<number>()((await client.rpc("one_number")).data![0]!);
  same<string>()((await client.rpc("label", { id: 1 })).data!);
  same<boolean>()((await client.rpc("label", { code: "x" })).data!);

  // @ts-expect-error: an argument is missing
  await client.rpc("add", {});
  // @ts-expect-error: not a number
  await client.rpc("add", { a: "x" });
}

export async function writes() {
  const added = await client.from("tools").insert({ name: "file", state: "used" })
    .select("id, makers(name)").single();
  same<number>()(added.data!.id);
  await client.from("tools").insert([{ name: "a", maker_id: 1 }, { name: "b", price: 3 }]);
  await client.from("tools").upsert({ name: "a", size: { width: 1, height: null } });
  await client.from("tools").update({ price: null }).eq("id", 1);
  await client.from("manuals").delete().eq("pages", 3);

  // @ts-expect-error: the name is required
  await client.from("tools").insert({ price: 1 });
  // @ts-expect-error: identity columns make their values themselves
  await client.from("tools").insert({ id: 1, name: "x" });
  // @ts-expect-error: generated
  await client.from("tools").update({ doubled: 3 });
  // @ts-expect-error: computed
  await client.from("tools").update({ shout: "X" });
  // @ts-expect-error: no such label
  await client.from("tools").update({ state: "lost" });
}

export async function views() {
  const listed = await client.from("tool_list").select("loud, makers(name)").single();
  same<string | null>()(listed.data!.loud);
  same<string>()(listed.data!.makers!.name);
  await client.from("tool_list").insert({ name: "axe" });
  await client.from("tool_list").update({ name: "axe", maker_id: null }).eq("id", 1);
  await client.from("inbox").insert({ name: "x", weight: 2 });
  const counted = await client.from("tool_count").select().single();
  same<number | null>()(counted.data!.tools);

  // @ts-expect-error: the column is an expression
  await client.from("tool_list").insert({ name: "axe", loud: "AXE" });
  // @ts-expect-error: the column is an expression
  await client.from("tool_list").update({ loud: "AXE" });
  // @ts-expect-error: the view cannot be written
  await client.from("tool_count").insert({ tools: 1 });
}

export function helpers(
  tool: Tables<"tools">,
  listed: Tables<"tool_list">,
  insert: TablesInsert<"tools">,
  update: TablesUpdate<"tools">,
  note: Tables<{ schema: "other" }, "notes">,
  newNote: TablesInsert<{ schema: "other" }, "notes">,
  state: Enums<"state">,
  mood: Enums<{ schema: "other" }, "mood">,
  size: CompositeTypes<"size">,
) {
  same<string>()(tool.name);
  same<string | null>()(tool.shout);
  same<string | null>()(listed.loud);
  same<State | undefined>()(insert.state);
  same<string | undefined>()(update.name);
  same<"ok" | "not ok">()(note.mood);
  same<number>()(newNote.id);
  same<State>()(state);
  same<"ok" | "not ok">()(mood);
  same<number | null>()(size.width);
  same<readonly ["new", "used", "worn out"]>()(Constants.api.Enums.state);
  same<"not ok">()(Constants.other.Enums.mood[1]);
}

// @ts-expect-error: no such table
export type Nothing = Tables<"nothing">;
// @ts-expect-error: the table is of another schema
export type Elsewhere = Tables<{ schema: "other" }, "tools">;
`;

/** What `deno` says on stdout, or on stderr when it fails. */
async function deno(...args: readonly string[]): Promise<{ code: number; text: string }> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], env: { NO_COLOR: "1" } });
  const { code, stdout, stderr } = await command.output();
  return { code, text: new TextDecoder().decode(code === 0 ? stdout : stderr) };
}

Deno.test("--types writes types by which typed queries compile", async () => {
  const database = await engines.pg({ name: "typed", roles: ["anon"] });
  const folder = await Deno.makeTempDir();
  try {
    const config = join(folder, "svc.conf");
    const lines = [`db-uri = ${JSON.stringify(database.uri)}`, 'db-schemas = "api, other"'];
    await Deno.writeTextFile(config, lines.join("\n"));
    const { code, text } = await deno("run", "-A", join(root, "main.ts"), config, "--types");
    strictEqual(code, 0, text);
    await Deno.writeTextFile(join(folder, "database.ts"), text);
    await Deno.writeTextFile(join(folder, "probe.ts"), probe);
    const options = [`--config=${join(root, "tests/deno.json")}`, join(folder, "probe.ts")];
    const checked = await deno("check", ...options);
    strictEqual(checked.code, 0, checked.text);
    const constants = "console.log(JSON.stringify((await import('./database.ts')).Constants))";
    await Deno.writeTextFile(join(folder, "constants.ts"), constants);
    const printed = await deno("run", join(folder, "constants.ts"));
    strictEqual(
      printed.text.trim(),
      '{"api":{"Enums":{"state":["new","used","worn out"]}},' +
        '"other":{"Enums":{"mood":["ok","not ok"]}}}',
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
    await database.remove();
  }
});

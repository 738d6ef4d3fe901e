/**
 * Generates clients of the operations of the shop, checks the types of a program that uses them, and runs it:
 * `generate_operations.ts <folder> <api> <token>`. Prints what it read as JSON. @module
 */
import { createClient } from "@hey-api/openapi-ts";
import { generate } from "orval";

const [folder = "", api = "", token = ""] = Deno.args;
const headers = { Authorization: `Bearer ${token}` };
const document = `${folder}/openapi.json`;
await Deno.writeTextFile(document, await (await fetch(api, { headers })).text());
await createClient({ input: document, output: `${folder}/client`, logs: { level: "silent" } });
console.log = () => {};
await generate(
  {
    input: { target: document },
    output: { target: `${folder}/orval.ts`, client: "fetch", baseUrl: api },
  } as Parameters<typeof generate>[0],
);

const program = `${folder}/program.ts`;
await Deno.writeTextFile(
  program,
  `import { changeNote, listProducts } from "./client/index.ts";
import { client } from "./client/client.gen.ts";
import * as orval from "./orval.ts";

const headers = ${JSON.stringify(headers)};
client.setConfig({ baseUrl: ${JSON.stringify(api)}, headers });
const read = await listProducts({ path: { category_id: 6, limit: 2, offset: 0 } });
const ids: readonly number[] = read.data!.map(({ id }) => id);
const changed = await changeNote({ path: { id: 1 }, body: { note: "x" } });
const again = await orval.listProducts(6, 2, 0, { headers });
const { status } = await orval.changeNote(1, { note: "y" }, { headers });
export const found = [ids, changed.response?.status, again.status, again.data, status];
`,
);
const config = new URL("deno.json", import.meta.url).pathname;
const { success, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["check", "--quiet", "--sloppy-imports", "--config", config, program],
}).output();
if (!success) throw new Error(new TextDecoder().decode(stderr));
console.info(JSON.stringify((await import(`file://${program}`)).found));
Deno.exit();

/**
 * Generates the clients of a page, checks the types of its modules, and runs them:
 * `generate_clients.ts <page> <folder> <api>`. Prints what they read as JSON. @module
 */
import { createClient } from "@hey-api/openapi-ts";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import openapiTS, { astToString } from "openapi-typescript";
import { generate } from "orval";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

const [page = "", folder = "", api = ""] = Deno.args;
const text = (await Deno.readTextFile(page)).replaceAll("http://localhost:3000", api);
const modules = Array.from(text.matchAll(/^```tsx (\S+)\n([^]*?)^```$/gm), ([, name, code]) => {
  Deno.writeTextFileSync(`${folder}/${name}`, code!);
  return `${folder}/${name}`;
});
const load = (name: string) => import(`file://${folder}/${name}`);

const document = `${folder}/openapi.json`;
await Deno.writeTextFile(document, await (await fetch(api)).text());
const types = astToString(await openapiTS(new URL(`file://${document}`)));
await Deno.writeTextFile(`${folder}/api.d.ts`, types);
await createClient({ input: document, output: `${folder}/client`, logs: { level: "silent" } });
Deno.chdir(folder);
console.log = () => {};
await generate((await load("orval.config.js")).default);

const config = new URL("deno.json", import.meta.url).pathname;
const { success, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["check", "--quiet", "--sloppy-imports", "--config", config, ...modules],
}).output();
if (!success) throw new Error(new TextDecoder().decode(stderr));

const { getReadProductsQueryOptions } = await load("hooks.ts");
const { Cheap } = await load("cheap.tsx");
const client = new QueryClient();
const query = { select: "id,name", price: "lt.5", order: "id" };
await client.prefetchQuery(getReadProductsQueryOptions(query));
const html = renderToString(createElement(QueryClientProvider, { client }, createElement(Cheap)));
const { data: fetched } = await load("openapi_fetch.ts");
const { data: called } = await load("hey_api.ts");
console.info(JSON.stringify({ fetched, called, html }));
Deno.exit();

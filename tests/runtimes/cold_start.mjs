/**
 * Measures the first answer of a handler that was given its schema cache:
 * `node cold_start.mjs <db-uri> <file of --dump-schema>` prints milliseconds since the import.
 *
 * @module
 */
import { readFile } from "node:fs/promises";

const [dbUri, file] = process.argv.slice(2);
const { createHandler } = await import("../../dist/svc.js");
const began = performance.now();
const api = createHandler({
  dbUri,
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  schemaCache: JSON.parse(await readFile(file, "utf8")),
});
const response = await api(new Request("http://localhost/orders?select=id&id=eq.1"));
const text = await response.text();
const milliseconds = performance.now() - began;
if (text !== '[{"id":1}]') throw new Error(text);
console.log(Math.ceil(milliseconds));
await api.close();

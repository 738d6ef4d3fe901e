/** The configuration of a service that needs no other server. @module */
import type { FileConfig } from "../server/process.ts";
import { testSecret } from "./token.ts";

/** The todo list of the examples, in memory. */
export const todos: FileConfig = {
  "db-uri": "pglite://memory",
  "db-embedded-init": new URL("../../../examples/todos/todos.sql", import.meta.url).pathname,
  "db-schemas": "api",
  "db-anon-role": "web_anon",
  "jwt-secret": testSecret,
};

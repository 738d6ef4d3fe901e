/** The relations and functions that `mcp-write` and `mcp-functions` name. @module */
import type { Config } from "../config/options.ts";
import type { QualifiedName } from "../schema_cache/schema_cache.ts";

/** Returns whether write tools may use a relation or function: `*`, `name` or `schema.name`. */
export function mayWrite(
  { schema, name }: QualifiedName,
  { mcpWrite, dbSchemas }: Pick<Config, "dbSchemas" | "mcpWrite">,
): boolean {
  if (mcpWrite === null) return false;
  return mcpWrite.some((item) =>
    item === "*" || item === `${schema}.${name}` || item === name && schema === dbSchemas[0]
  );
}

/** A function that is a tool of its own. */
export interface ToolFunction extends QualifiedName {
  readonly tool: string;
}

/** Returns the functions of `mcp-functions`. A name without a schema is one of the first schema. */
export function toolFunctions(
  { mcpFunctions, dbSchemas }: Pick<Config, "dbSchemas" | "mcpFunctions">,
): readonly ToolFunction[] {
  return (mcpFunctions ?? []).map((item) => {
    const [first = ""] = dbSchemas;
    const schema = dbSchemas.find((each) => item.startsWith(`${each}.`)) ?? null;
    const name = schema === null ? item : item.slice(schema.length + 1);
    const isFirst = schema === null || schema === first;
    return { schema: schema ?? first, name, tool: `rpc.${isFirst ? name : item}` };
  });
}

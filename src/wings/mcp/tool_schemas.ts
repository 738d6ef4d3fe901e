/** The tools: names, texts for the model, and JSON Schemas (draft 2020-12) of their arguments.
 * @module */

type ToolSchema = Readonly<Record<string, unknown>>;

/** A tool, in the form of `tools/list`. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ToolSchema & { readonly type: "object" };
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint: false;
  };
}

const reads = { readOnlyHint: true, openWorldHint: false } as const;
const destroys = { ...reads, readOnlyHint: false, destructiveHint: true, idempotentHint: true };

const text = (description: string) => ({ type: "string", description });
const name = (description: string) => ({ type: "string", minLength: 1, description });

const schema = name("Schema, if it is not the default one");
const relation = name("Name of a table or view");
const select = text("Columns and embeds: `title,language(name)`; all columns if left out");
const where = {
  type: "object",
  description: 'Filters, all of which hold: {"rating": "eq.PG", "length": ["gt.100", "lt.120"]}. ' +
    'Embeds: {"actors.order": "name", "actors.limit": "3"}',
  additionalProperties: {
    anyOf: [
      { type: "string" },
      { type: "array", items: { type: "string" }, minItems: 1 },
    ],
  },
};
const rowsOfResult = {
  select,
  where,
  and: text("Group of conditions that all hold: `(a.eq.1,or(b.eq.2,c.is.null))`"),
  or: text("Group of conditions one of which holds: `(a.eq.1,b.gt.5)`"),
  order: text("Order: `title.desc,id`"),
  limit: { type: "integer", minimum: 1, description: "Most rows; 20 if left out" },
  offset: {
    type: "integer",
    minimum: 0,
    // A larger number could get an exponent in the URL.
    maximum: Number.MAX_SAFE_INTEGER,
    description: "Rows to skip",
  },
  count: { type: "string", enum: ["exact", "planned", "estimated"], description: "Count all rows" },
};
const dryRun = { type: "boolean", description: "Undo the write, and show what it does" };
const filters = { ...where, minProperties: 1, description: "Filters on columns, at least one" };

function argumentsOf(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
): ToolDefinition["inputSchema"] {
  return { type: "object", properties, required, additionalProperties: false };
}

export const readTools: readonly ToolDefinition[] = [
  {
    name: "list_relations",
    description: "Lists tables, views and functions that you may use, 100 a page",
    inputSchema: argumentsOf({
      schema,
      search: text("Part of a name or a comment"),
      cursor: text("nextCursor of the page before"),
    }),
    annotations: reads,
  },
  {
    name: "describe_relation",
    description: "Describes a table, view or function: columns, key, embeds, examples of calls",
    inputSchema: argumentsOf({ relation, schema }, ["relation"]),
    annotations: reads,
  },
  {
    name: "query",
    description: "Reads rows of a table or view",
    inputSchema: argumentsOf({ relation, schema, ...rowsOfResult }, ["relation"]),
    annotations: reads,
  },
  {
    name: "call_function",
    description: "Calls a function",
    inputSchema: argumentsOf({
      function: name("Name of the function"),
      schema,
      arguments: { type: "object", description: "Arguments by name" },
      ...rowsOfResult,
    }, ["function"]),
    annotations: reads,
  },
];

export const writeTools: readonly ToolDefinition[] = [
  {
    name: "insert_rows",
    description: "Inserts rows, and returns them",
    inputSchema: argumentsOf({
      relation,
      schema,
      rows: { type: "array", items: { type: "object" }, minItems: 1 },
      select,
      dry_run: dryRun,
    }, ["relation", "rows"]),
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  {
    name: "update_rows",
    description: "Updates the rows that match, and returns them",
    inputSchema: argumentsOf({
      relation,
      schema,
      where: filters,
      values: { type: "object", minProperties: 1, description: "New values by column" },
      select,
      dry_run: dryRun,
    }, ["relation", "where", "values"]),
    annotations: destroys,
  },
  {
    name: "delete_rows",
    description: "Deletes the rows that match, and returns them",
    inputSchema: argumentsOf({ relation, schema, where: filters, select, dry_run: dryRun }, [
      "relation",
      "where",
    ]),
    annotations: destroys,
  },
];

/** The tools that write rows. @module */
import type { McpCall, McpReply } from "./mcp_port.ts";
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import { requestLine } from "./query_tools.ts";
import { InvalidParams, type Session } from "./session.ts";
import {
  checkColumnFilters,
  filterParams,
  queryOf,
  type QueryParamPair,
  relationPath,
  type Where,
} from "./target.ts";
import {
  dataResult,
  errorOf,
  errorResult,
  readResult,
  type ResultContent,
  tooLongText,
  type ToolResult,
} from "./tool_result.ts";
import { mayWrite } from "./privileges.ts";

interface WriteArguments {
  readonly relation: string;
  readonly schema?: string;
  readonly select?: string;
  readonly dry_run?: boolean;
}

interface InsertArguments extends WriteArguments {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

interface DeleteArguments extends WriteArguments {
  readonly where: Where;
}

interface UpdateArguments extends DeleteArguments {
  readonly values: Readonly<Record<string, unknown>>;
}

export async function insertRows(
  args: InsertArguments,
  session: Session,
): Promise<ToolResult> {
  const { mcpMaxRows } = session.config;
  if (args.rows.length > mcpMaxRows) throw new InvalidParams(`rows: at most ${mcpMaxRows}`);
  for (const row of args.rows) checkColumns(row, relationOf(args, session));
  return await write(args, session, {
    method: "POST",
    filters: columnsParam(args.rows),
    preferences: ["missing=default"],
    body: JSON.stringify(args.rows),
  });
}

/** Returns a `columns` parameter with the columns of all rows; empty if each row has all of them. */
function columnsParam(rows: InsertArguments["rows"]): readonly QueryParamPair[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  if (rows.every((row) => Object.keys(row).length === names.size)) return [];
  const quoted = [...names].map((name) => `"${name.replaceAll(/["\\]/g, "\\$&")}"`);
  return [["columns", quoted.join(",")]];
}

export async function updateRows(args: UpdateArguments, session: Session): Promise<ToolResult> {
  checkColumns(args.values, relationOf(args, session));
  return await write(args, session, {
    method: "PATCH",
    ...boundedFilters(args, session),
    body: JSON.stringify(args.values),
  });
}

export async function deleteRows(args: DeleteArguments, session: Session): Promise<ToolResult> {
  return await write(args, session, { method: "DELETE", ...boundedFilters(args, session) });
}

/** Returns the preference `max-affected`, and the filters. A filter must be on a column of the
 * relation. If the relation is unknown, the API rejects the request. */
function boundedFilters(
  args: DeleteArguments,
  session: Session,
): Pick<WriteForm, "filters" | "preferences"> {
  const { where } = args;
  const relation = relationOf(args, session);
  const filters = filterParams(where, session.host.isParameterName);
  if (relation !== undefined) checkColumnFilters(where, relation);
  return { filters, preferences: [`max-affected=${session.config.mcpMaxRows}`] };
}

/** Returns the relation; undefined if the API will reject it. */
function relationOf(
  { relation: name, schema }: WriteArguments,
  session: Session,
): Relation | undefined {
  return session.cache?.relation({ schema: session.schemaOf(schema), name });
}

/** Throws `InvalidParams` for a key that is not a column, because it could write to another relation. */
function checkColumns(
  row: Readonly<Record<string, unknown>>,
  relation: Relation | undefined,
): void {
  if (relation === undefined) return;
  const names = new Set(relation.columns.map(({ name }) => name));
  const unknown = Object.keys(row).find((key) => !names.has(key));
  if (unknown === undefined) return;
  throw new InvalidParams(`${JSON.stringify(unknown)} is not a column of ${relation.name}`);
}

/** The parts that differ between inserts, updates and deletes. */
interface WriteForm extends Pick<McpCall, "body"> {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly filters: readonly QueryParamPair[];
  readonly preferences: readonly string[];
}

async function write(
  { relation, schema: schemaName, select, dry_run: isDryRun = false }: WriteArguments,
  session: Session,
  { method, filters, preferences, body }: WriteForm,
): Promise<ToolResult> {
  const { config } = session;
  const schema = session.schemaOf(schemaName);
  if (!mayWrite({ schema, name: relation }, config)) {
    return errorResult(`mcp-write does not list ${schema}.${relation}: nothing was sent`);
  }
  if (isDryRun && !config.dbTxEnd.endsWith("allow-override")) {
    return errorResult("dry_run needs db-tx-end = commit-allow-override: nothing was sent");
  }
  const prefer = [
    "return=representation",
    "handling=strict",
    ...preferences,
    ...(isDryRun ? ["tx=rollback"] : []),
  ];
  const call = {
    method,
    path: relationPath(relation),
    query: queryOf([...filters, ...(select === undefined ? [] : [["select", select] as const])]),
    schema,
    prefer: prefer.join(", "),
    ...(body === undefined ? {} : { body }),
  };
  const reply = await session.call(call);
  const result = await contentOfWrite(call, reply, session);
  if (result === null) return await errorOf(reply);
  return writeResult(result, { isDryRun, line: requestLine(call, session) });
}

/** Reads the content of the reply to a write, and reports the write; null if the write failed. */
export async function contentOfWrite(
  call: Pick<McpCall, "method" | "path" | "query">,
  reply: McpReply,
  session: Session,
): Promise<ResultContent | null> {
  const result = reply.status < 400 ? await readResult(reply) : null;
  session.reportWrite(call, {
    status: reply.status,
    rows: result?.kind === "rows" ? result.rows.length : null,
  });
  return result;
}

function writeResult(
  result: ResultContent,
  { isDryRun, line }: { readonly isDryRun: boolean; readonly line: string },
): ToolResult {
  const done = isDryRun ? "undone, because of dry_run" : "done";
  if (result.kind === "too long") {
    // This is not an error, because the model must not repeat a write that took effect.
    const text = `${line}: ${done}. ${tooLongText(result.bytes)}`;
    return {
      isError: false,
      structuredContent: { rows: [], omitted: true },
      content: [{ type: "text", text }],
    };
  }
  const rows = result.kind === "rows" ? result.rows : [result.value];
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
  return dataResult(`${line}: ${count}, ${done}.`, rows, { rows, dryRun: isDryRun });
}

/** The tools that read rows and call functions. @module */
import type { McpCall, McpReply } from "./mcp_port.ts";
import type { Routine } from "../../state/schema_cache/schema_cache.ts";
import { InvalidParams, type Session } from "./session.ts";
import {
  filterParams,
  functionPath,
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

/** Arguments that select rows of a result. */
interface RowArguments {
  readonly select?: string;
  readonly where?: Where;
  readonly and?: string;
  readonly or?: string;
  readonly order?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly count?: "exact" | "planned" | "estimated";
}

interface QueryArguments extends RowArguments {
  readonly relation: string;
  readonly schema?: string;
}

interface FunctionArguments extends RowArguments {
  readonly function: string;
  readonly schema?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Number of rows of a result if the call has no limit. */
const defaultLimit = 20;

export async function query(
  { relation, schema, ...rows }: QueryArguments,
  session: Session,
): Promise<ToolResult> {
  const page = pageOf(rows, session);
  const call = {
    method: "GET",
    path: relationPath(relation),
    query: queryOf([...rowParams(rows, session), ...limitParam(page)]),
    schema: session.schemaOf(schema),
    ...preferCount(rows),
  } as const;
  return await rowsResult(call, await session.call(call), page, session);
}

/** Calls a function. Only functions of `mcp-write` run in a transaction that can write. */
export async function callFunction(
  { function: name, schema: schemaName, arguments: values = {}, ...rows }: FunctionArguments,
  session: Session,
): Promise<ToolResult> {
  const schema = session.schemaOf(schemaName);
  const routines = session.cache?.routines({ schema, name }) ?? [];
  rejectArgumentFilters(rows.where ?? {}, routines);
  const writes = routines.some(({ volatility }) => volatility === "volatile") &&
    mayWrite({ schema, name }, session.config);
  const returnsSet = routines.some(({ returns }) => returns.set);
  const page = returnsSet ? pageOf(rows, session) : null;
  const call: Call = {
    method: "POST",
    path: functionPath(name),
    query: queryOf([...rowParams(rows, session), ...limitParam(page)]),
    schema,
    ...preferCount(rows),
    body: JSON.stringify(values),
    ...(writes ? {} : { isReadOnly: true }),
  };
  const reply = await session.call(call);
  if (writes) session.reportWrite(call, { status: reply.status, rows: null });
  return await rowsResult(call, reply, page, session);
}

type Call = Omit<McpCall, "headers" | "signal" | "tool">;

/** Rejects filters that would be parsed as arguments of the function. */
function rejectArgumentFilters(where: Where, routines: readonly Routine[]): void {
  const parameters = new Set(
    routines.flatMap(({ parameters }) => parameters.map(({ name }) => name)),
  );
  const argument = Object.keys(where).find((name) => parameters.has(name));
  if (argument !== undefined) {
    throw new InvalidParams(`where: ${argument} is an argument of the function`);
  }
}

/** Rows that a call shows. */
interface Page {
  readonly limit: number;
  readonly offset: number;
}

function pageOf(
  { limit = defaultLimit, offset = 0 }: RowArguments,
  { config: { mcpMaxRows } }: Session,
): Page {
  return { limit: Math.min(limit, mcpMaxRows), offset };
}

/** Returns the limit: one row more than the page has, which shows whether more rows follow. */
function limitParam(page: Page | null): readonly QueryParamPair[] {
  return page === null ? [] : [["limit", String(page.limit + 1)]];
}

function rowParams(
  { select, where = {}, and, or, order, offset }: RowArguments,
  { host }: Session,
): readonly QueryParamPair[] {
  const params = { select, and, or, order, offset: offset?.toString() };
  return [
    ...filterParams(where, host.isParameterName),
    ...Object.entries(params).flatMap(([name, value]): readonly QueryParamPair[] =>
      value === undefined ? [] : [[name, value]]
    ),
  ];
}

function preferCount({ count }: RowArguments): Pick<McpCall, "prefer"> {
  return count === undefined ? {} : { prefer: `count=${count}` };
}

/** Makes the result of a call: an error, a value, or the rows of `page` (if null, all rows). */
export async function rowsResult(
  call: Call,
  reply: McpReply,
  page: Page | null,
  session: Session,
): Promise<ToolResult> {
  if (reply.status >= 400) return await errorOf(reply);
  return contentResult(call, await readResult(reply), page, session);
}

/** Makes the result of a call from the content of a successful reply. */
export function contentResult(
  call: Call,
  result: ResultContent,
  page: Page | null,
  session: Session,
): ToolResult {
  const line = requestLine(call, session);
  switch (result.kind) {
    case "too long":
      return errorResult(tooLongText(result.bytes));
    case "value":
      return dataResult(`${line}.`, result.value, { result: result.value });
    case "rows":
      return pageResult(line, result, page);
    default:
      return result satisfies never;
  }
}

/** Returns a text about a request: `GET /film?limit=3 as web_user`. */
export function requestLine(
  { method, path, query }: Pick<McpCall, "method" | "path" | "query">,
  { identity }: Session,
): string {
  return `${method} ${path}${query === "" ? "" : `?${query}`} as ${identity.role}`;
}

function pageResult(
  line: string,
  { rows: all, total, isCut }: Extract<ResultContent, { kind: "rows" }>,
  page: Page | null,
): ToolResult {
  const { limit, offset } = page ?? { limit: all.length, offset: 0 };
  const rows = all.slice(0, limit);
  const more = all.length > limit || isCut;
  const range = rows.length === 0 ? "*" : `${offset}-${offset + rows.length - 1}`;
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
  return dataResult(`${line}: ${count}${more ? ", more follow" : ""}.`, rows, {
    rows,
    range: `${range}/${total}`,
    more,
    ...(more ? { nextOffset: offset + rows.length } : {}),
  });
}

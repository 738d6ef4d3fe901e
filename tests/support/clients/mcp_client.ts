/** Connects the official client of the Model Context Protocol with a handler, or with a server.
 * @module */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { linesOf } from "../handler/rows.ts";
import { type Claims, signToken } from "../handler/token.ts";

/** The revision that a client speaks: the revision of 2026, or the revisions of 2025. */
export type Era = "auto" | "legacy";

/** Options of a client in addition to its address. */
export interface ClientParts {
  /** `auto` unless told. */
  readonly era?: Era;
  /** Role or claims of the token; none unless told. */
  readonly as?: string | Claims;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string;
  /** Called with each exchange. */
  readonly onExchange?: (request: Request, response: Response) => void;
}

/** The result of a tool. */
// deno-lint-ignore no-explicit-any
export type Result = any;

/** A connected client. */
export interface McpClient extends AsyncDisposable {
  readonly client: Client;
  /** Calls a tool. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<Result>;
}

/** Connects a client; `send` is the handler, or `fetch`. */
export async function connectMcp(
  send: (request: Request) => Promise<Response>,
  { era = "auto", as, headers = {}, url = "http://localhost:3000/mcp", onExchange }: ClientParts =
    {},
): Promise<McpClient> {
  const claims = typeof as === "string" ? { role: as } : as;
  const token: Record<string, string> = claims === undefined
    ? {}
    : { Authorization: `Bearer ${await signToken(claims)}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers, ...token } },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const response = await send(request);
      onExchange?.(request, response);
      return response;
    },
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: era } });
  await client.connect(transport);
  return {
    client,
    call: (name, args = {}) => client.callTool({ name, arguments: { ...args } }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Connects a client to a handler, and calls one tool. */
export async function callMcp(
  send: (request: Request) => Promise<Response>,
  [name, args, parts]: readonly [string, Readonly<Record<string, unknown>>, ClientParts?],
): Promise<Result> {
  await using mcp = await connectMcp((request) => send(request), parts);
  return await mcp.call(name, args);
}

/** Returns the text of a result. */
export function resultText({ content }: Result): string {
  return content[0].text;
}

/** A label, a tool, its arguments, and a pattern of the answer. */
export type ToolRow = readonly [string, string, Readonly<Record<string, unknown>>, RegExp];

/** Reads rows of `label | tool arguments | pattern`. */
export function toolRows(table: TemplateStringsArray): readonly ToolRow[] {
  return linesOf(table).map((line) => {
    const [label = "", call = "", pattern = ""] = line.split(" | ");
    const [, tool = "", args = ""] = /^(\S+) (.*)$/.exec(call)!;
    return [label, tool, JSON.parse(args), new RegExp(pattern)];
  });
}

/** One message on its way through the endpoint, and the requests of the API that it causes. @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import type { Config } from "../config/options.ts";
import type { McpCall, McpHostFacts, McpMessage, McpReply } from "../agents/mcp_port.ts";
import type { AgentWrite } from "../observe/observation.ts";
import type { SchemaMetadata } from "../query/schema_metadata.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import { InvalidParams } from "./invalid_params.ts";
import { errorOf, type ToolResult } from "./tool_result.ts";

/** Facts that a message has about itself, and the signal that cancels it. */
export interface MessageFacts {
  /** `tools/call` */
  readonly method: string;
  /** Name of the tool, or URI of the resource; null without one. */
  readonly name: string | null;
  /** Value of `_meta.traceparent`; null without one. */
  readonly traceparent: string | null;
  readonly signal: AbortSignal;
}

/** The failure of a request of the API that a tool needs. */
export class ApiFailure extends Error {
  readonly reply: McpReply;

  constructor(reply: McpReply) {
    super(`the API answered with status ${reply.status}`);
    this.reply = reply;
  }
}

/** A message of an authenticated client. */
export class Session {
  readonly host: McpHostFacts;
  readonly message: McpMessage;
  readonly identity: Identity;

  constructor(host: McpHostFacts, message: McpMessage, identity: Identity) {
    this.host = host;
    this.message = message;
    this.identity = identity;
  }

  get config(): Config {
    return this.message.snapshot.config;
  }

  /** Null until the schema cache is loaded; requests of the API fail then. */
  get cache(): SchemaCache | null {
    return this.message.snapshot.cache;
  }

  /** Returns the schema of an argument. Throws `InvalidParams` if it is not exposed. */
  schemaOf(schema: string | undefined): string {
    const { dbSchemas } = this.config;
    if (schema === undefined) return dbSchemas[0]!;
    if (dbSchemas.includes(schema)) return schema;
    throw new InvalidParams(`schema: expected one of ${dbSchemas.join(", ")}`);
  }

  /** Makes a request of the API. */
  async call(
    call: Omit<McpCall, "headers" | "signal" | "tool">,
    facts: MessageFacts,
  ): Promise<McpReply> {
    const { method, name, traceparent, signal } = facts;
    const hasTrace = this.message.request.headers.has("traceparent");
    return await this.message.call({
      ...call,
      tool: method === "tools/call" ? name : null,
      signal,
      headers: {
        "mcp-method": method,
        ...(name === null ? {} : { "mcp-name": name }),
        ...(traceparent === null || hasTrace ? {} : { traceparent }),
      },
    });
  }

  /** Reads what the role may use in a schema. Throws `ApiFailure`. */
  async metadata(schema: string, facts: MessageFacts): Promise<SchemaMetadata> {
    const reply = await this.call({
      method: "GET",
      path: "/",
      query: "",
      schema,
      subject: "metadata",
      accept: "application/openapi+json;version=3.1",
    }, facts);
    if (reply.status >= 400) throw new ApiFailure(reply);
    const text = new TextDecoder().decode(reply.content as Uint8Array);
    return JSON.parse(text) ?? { comment: null, privileges: [], functions: [], overloads: [] };
  }

  /** Reports a write to the log. `rows` is null if it failed or has no rows. */
  reportWrite(
    { method, path, query }: Pick<McpCall, "method" | "path" | "query">,
    { status, rows, tool }: Pick<AgentWrite, "rows" | "status" | "tool">,
  ): void {
    const target = query === "" ? path : `${path}?${query}`;
    const { role } = this.identity;
    this.host.reportWrite({ role, tool, method, target, status, rows });
  }

  /** Returns a failed reply as the result of a tool. */
  errorOf(reply: McpReply): Promise<ToolResult> {
    return errorOf(reply);
  }
}

/** A message during its processing, and the API requests that it causes. @module */
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { McpConfig } from "./mcp_options.ts";
import type { McpCall, McpHostInfo, McpMessage, McpReply } from "./mcp_port.ts";
import type { AgentWrite } from "../../base/observe/observation.ts";
import type { SchemaMetadata } from "../../api/query/schema_metadata.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";

/** Reports invalid parameters of a message: `-32602` of JSON-RPC. The client sees the error message. */
export class InvalidParams extends Error {}

/** Metadata of a message. */
export interface MessageHead {
  /** Method of the protocol, such as `tools/call`. */
  readonly method: string;
  /** Name of the tool, URI of the resource, or null. */
  readonly name: string | null;
  /** Value of `_meta.traceparent`, or null. */
  readonly traceparent: string | null;
}

/** Reports the failure of an API request that a tool needs. */
export class ApiFailure extends Error {
  constructor(readonly reply: McpReply) {
    super(`the API answered with status ${reply.status}`);
  }
}

/** A message from an authenticated client. */
export class Session {
  constructor(
    readonly host: McpHostInfo,
    readonly message: McpMessage,
    readonly identity: Identity,
    readonly head: MessageHead,
  ) {}

  get config(): McpConfig {
    return this.message.snapshot.config;
  }

  /** Null until the schema cache is loaded. API requests fail before that. */
  get cache(): SchemaCache | null {
    return this.message.snapshot.cache;
  }

  /** Returns the schema of an argument, or the first schema. Throws `InvalidParams` for an unexposed schema. */
  schemaOf(schema: string | undefined): string {
    const { dbSchemas } = this.config;
    if (schema === undefined) return dbSchemas[0]!;
    if (dbSchemas.includes(schema)) return schema;
    throw new InvalidParams(`schema: expected one of ${dbSchemas.join(", ")}`);
  }

  /** Sends an API request. */
  async call(
    call: Omit<McpCall, "headers" | "signal" | "tool">,
    sent: McpCall["headers"] = {},
  ): Promise<McpReply> {
    const { method, name, traceparent } = this.head;
    const { signal, headers } = this.message.request;
    const hasTrace = headers.has("traceparent");
    return await this.message.call({
      ...call,
      tool: method === "tools/call" ? name : null,
      signal,
      headers: {
        ...sent,
        "mcp-method": method,
        ...(name === null ? {} : { "mcp-name": name }),
        ...(traceparent === null || hasTrace ? {} : { traceparent }),
      },
    });
  }

  /** Reads what the role may use in a schema. Throws `ApiFailure`. */
  async metadata(schema: string): Promise<SchemaMetadata> {
    const reply = await this.call({
      method: "GET",
      path: "/",
      query: "",
      schema,
      subject: "metadata",
    });
    if (reply.status >= 400) throw new ApiFailure(reply);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(reply.content as Uint8Array);
    return JSON.parse(text) ?? { comment: null, privileges: [], functions: [], overloads: [] };
  }

  /** Reports a write to the log. `rows` is null if the write failed or returned no rows. */
  reportWrite(
    { method, path, query }: Pick<McpCall, "method" | "path" | "query">,
    { status, rows }: Pick<AgentWrite, "rows" | "status">,
  ): void {
    const target = query === "" ? path : `${path}?${query}`;
    const { identity: { role }, head: { name } } = this;
    this.host.reportWrite({ role, tool: name ?? "", method, target, status, rows });
  }
}

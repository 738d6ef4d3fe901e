/** The endpoint for agents: `mcp-path`. It speaks the Model Context Protocol
 * (https://modelcontextprotocol.io/specification/2026-07-28), also its revisions of 2025. Each call
 * of a tool is a request of the API with the token of the message. @module */
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { McpEndpoint, McpHostInfo, McpMessage } from "./mcp_port.ts";
import type { McpConfig } from "./mcp_options.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { addressOf } from "../../api/response/openapi/about.ts";
import type { Reply } from "../../api/response/reply.ts";
import { type AnswerMessage, type Library, openProtocol } from "./protocol.ts";
import { type MessageHead, Session } from "./session.ts";
import { parseExactly } from "./tool_result.ts";

/** Loads the library of the protocol. Rejects if its package is missing. */
export async function loadLibrary(): Promise<Library> {
  return await import("@modelcontextprotocol/server");
}

export async function openEndpoint(host: McpHostInfo): Promise<McpEndpoint> {
  const answer = openProtocol(await loadLibrary(), host);
  return async function respond(message) {
    const { path, request: { method, headers }, snapshot: { config } } = message;
    if (path !== config.mcpPath) return metadataReply(message);
    if (method !== "POST") return methodNotAllowed("POST");
    // Refuses pages of other origins: they must not use the network or the cookie of their visitor.
    const origin = headers.get("origin");
    if (origin !== null && config.mcpAllowedOrigins?.includes(origin) !== true) {
      throw host.errors.foreignOrigin();
    }
    const admitted = await admit(message, host);
    return "reply" in admitted
      ? admitted.reply
      : await receive(message, { host, answer, identity: admitted.identity });
  };
}

/** Authenticates a message. A response 401 tells where tokens are issued. */
async function admit(
  message: McpMessage,
  { errors }: McpHostInfo,
): Promise<{ readonly identity: Identity } | { readonly reply: Reply }> {
  const { config } = message.snapshot;
  const isIssued = config.mcpAuthorizationServers !== null;
  try {
    const identity = await message.admit(isIssued ? resourceUri(config) : null);
    if (config.mcpRoles?.includes(identity.role) === false) throw errors.roleNotListed();
    return { identity };
  } catch (thrown) {
    const reply = message.fail(thrown);
    if (reply.status !== 401 || !isIssued) return { reply };
    return { reply: { ...reply, headers: withChallenge(reply.headers, metadataUrlOf(config)) } };
  }
}

/** Maximum bytes of a message. */
const maxMessageBytes = 1024 * 1024;

async function receive(
  message: McpMessage,
  { host, answer, identity }: {
    readonly host: McpHostInfo;
    readonly answer: AnswerMessage;
    readonly identity: Identity;
  },
): Promise<Reply> {
  const body = parsed(await message.receive(maxMessageBytes));
  if (body === undefined) return protocolError(-32700, "Parse error: expected JSON");
  if (Array.isArray(body)) return protocolError(-32600, "Invalid request: batches are not taken");
  const head = headOf(body);
  if (head.method === "subscriptions/listen") {
    const { id } = objectOf(body);
    return protocolError(-32601, "Method not found", { status: 404, id });
  }
  const response = await answer(new Session(host, message, identity, head), body);
  const { status } = response;
  // Removes `Connection`, which only the server may set (RFC 9110, section 7.6.1).
  const headers = [...response.headers].filter(([name]) => name !== "connection");
  // The content is one chunk, because the library answers messages of 2025 by a stream with one event.
  const content = response.body === null ? null : await response.bytes();
  const length = content?.length ?? 0;
  if (status !== 202) headers.push(["Content-Length", String(length)]);
  return { status, headers, content, length };
}

/** Returns the JSON of a body; undefined for other texts. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return parseExactly(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Returns the metadata of a message. The library validates the form of the message. */
function headOf(body: unknown): MessageHead {
  const { method, params } = objectOf(body);
  const { name, uri, _meta } = objectOf(params);
  const { traceparent } = objectOf(_meta);
  const target = method === "resources/read" ? uri : name;
  return {
    method: typeof method === "string" ? method : "",
    name: typeof target === "string" ? target : null,
    traceparent: typeof traceparent === "string" && isTraceparent(traceparent) ? traceparent : null,
  };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

/** Returns whether a text is valid in the header `traceparent` (W3C Trace Context, section 3.2). An
 * invalid text would make the request fail. */
function isTraceparent(text: string): boolean {
  return /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}

/** Returns an error of JSON-RPC. `id` is null if the message cannot be parsed. */
function protocolError(
  code: number,
  message: string,
  { status = 400, id = null }: { readonly status?: number; readonly id?: unknown } = {},
): Reply {
  const named = typeof id === "string" || typeof id === "number" ? id : null;
  return jsonReply(status, { jsonrpc: "2.0", error: { code, message }, id: named });
}

function jsonReply(status: number, value: unknown): Reply {
  const content = new TextEncoder().encode(JSON.stringify(value));
  const { length } = content;
  const headers = [
    ["Content-Type", "application/json"],
    ["Content-Length", String(length)],
  ] as const;
  return { status, headers, content, length };
}

/** Returns the reply for a method that the path does not support. */
function methodNotAllowed(allow: string): Reply {
  const headers = [["Allow", allow], ["Content-Length", "0"]] as const;
  return { status: 405, headers, content: null, length: 0 };
}

/** Tells clients where tokens for the endpoint are issued (RFC 9728, section 2). */
function metadataReply({ request: { method }, snapshot: { config } }: McpMessage): Reply {
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET, HEAD");
  return jsonReply(200, {
    resource: resourceUri(config),
    authorization_servers: config.mcpAuthorizationServers ?? [],
    bearer_methods_supported: ["header"],
    resource_name: config.dialect.productToken,
  });
}

/** Returns headers with a challenge that tells where tokens are issued (RFC 9728, section 5.1). */
function withChallenge(headers: HeaderList, metadataUrl: string): HeaderList {
  const parameter = `resource_metadata="${metadataUrl}"`;
  return headers.map(([name, value]) =>
    name.toLowerCase() !== "www-authenticate"
      ? [name, value] as const
      : [name, value === "Bearer" ? `Bearer ${parameter}` : `${value}, ${parameter}`] as const
  );
}

/** Returns the URI that tokens must name in `aud` (RFC 8707). It depends only on the configuration,
 * because a `Host` header could name the service for which a stolen token was issued. */
function resourceUri(config: McpConfig): string {
  const { mcpResource, mcpPath, openapiServerProxyUri, serverPathPrefix } = config;
  if (mcpResource !== null) return mcpResource;
  if (openapiServerProxyUri !== null) return openapiServerProxyUri.replace(/\/$/, "") + mcpPath;
  const { scheme, host } = addressOf(config);
  return `${scheme}://${host}${serverPathPrefix ?? ""}${mcpPath}`;
}

/** Returns the URL of the metadata. A proxy that adds a prefix to `mcp-path` also adds it to this path. */
function metadataUrlOf(config: McpConfig): string {
  const path = config.mcpPath ?? "";
  const resource = resourceUri(config);
  const base = resource.endsWith(path)
    ? resource.slice(0, resource.length - path.length)
    : new URL(resource).origin;
  return `${base}/.well-known/oauth-protected-resource${path}`;
}

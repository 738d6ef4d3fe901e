/** The endpoint for agents: `mcp-path`. It speaks the Model Context Protocol
 * (https://modelcontextprotocol.io/specification/2026-07-28), also its revisions of 2025. Each call
 * of a tool is a request of the API with the token of the message. @module */
import type { Identity } from "../auth/jwt_cache.ts";
import type { McpEndpoint, McpHostFacts, McpMessage } from "../agents/mcp_port.ts";
import type { Reply } from "../response/reply.ts";
import { guide } from "./guide.ts";
import { methodNotAllowed, protocolError, replyOf, textReply, withChallenge } from "./http.ts";
import { Listeners } from "./listeners.ts";
import { parseExactly } from "./numbers.ts";
import { type Library, Protocol, type ProtocolMessage } from "./protocol.ts";
import { metadataUrlOf, resourceMetadata, resourceUri } from "./resource_metadata.ts";
import { type MessageFacts, Session } from "./session.ts";

/** Loads the library of the protocol. Rejects if its package is missing. */
export async function loadLibrary(): Promise<Library> {
  return await import("@modelcontextprotocol/server");
}

/** Opens the endpoint of a handler. */
export function openEndpoint(host: McpHostFacts): McpEndpoint {
  return new Endpoint(host);
}

/** A message of an authenticated client. */
type ReceivedMessage = Omit<ProtocolMessage, "left">;

class Endpoint implements McpEndpoint {
  readonly #host: McpHostFacts;
  readonly #listeners = new Listeners();
  readonly #protocol: Protocol;

  constructor(host: McpHostFacts) {
    this.#host = host;
    this.#protocol = new Protocol(host, loadLibrary);
  }

  notifyToolsChanged(): void {
    this.#protocol.notifyToolsChanged();
  }

  async respond(message: McpMessage): Promise<Reply> {
    const { path, request: { method } } = message;
    const { mcpPath } = message.snapshot.config;
    if (path !== mcpPath && path.startsWith("/.well-known/")) return this.#metadata(message);
    if (path !== mcpPath) return await this.#guide(message);
    if (method !== "POST") return methodNotAllowed("POST");
    this.#checkOrigin(message);
    const admitted = await this.#admit(message);
    if ("reply" in admitted) return admitted.reply;
    return await this.#receive(message, admitted.identity);
  }

  #metadata(message: McpMessage): Reply {
    const { method } = message.request;
    if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET, HEAD");
    const metadata = resourceMetadata(message.snapshot.config);
    return textReply(200, "application/json", JSON.stringify(metadata));
  }

  async #guide(message: McpMessage): Promise<Reply> {
    const { method } = message.request;
    if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET, HEAD");
    this.#checkOrigin(message);
    const admitted = await this.#admit(message);
    return "reply" in admitted
      ? admitted.reply
      : textReply(200, "text/markdown; charset=utf-8", guide);
  }

  /** Browsers send `Origin`: a page must not use the network, or the cookie, of its visitor. */
  #checkOrigin({ request: { headers }, snapshot: { config } }: McpMessage): void {
    const origin = headers.get("origin");
    if (origin === null || config.mcpAllowedOrigins?.includes(origin)) return;
    throw this.#host.errors.foreignOrigin();
  }

  /** Authenticates a message. A reply 401 tells where tokens come from. */
  async #admit(
    message: McpMessage,
  ): Promise<{ readonly identity: Identity } | { readonly reply: Reply }> {
    const { config } = message.snapshot;
    const isIssued = config.mcpAuthorizationServers !== null;
    try {
      const identity = await message.admit(isIssued ? resourceUri(config) : null);
      if (config.mcpRoles?.includes(identity.role) === false) {
        throw this.#host.errors.roleNotListed();
      }
      return { identity };
    } catch (thrown) {
      const reply = message.fail(thrown);
      if (reply.status !== 401 || !isIssued) return { reply };
      return { reply: { ...reply, headers: withChallenge(reply.headers, metadataUrlOf(config)) } };
    }
  }

  async #receive(message: McpMessage, identity: Identity): Promise<Reply> {
    const { request } = message;
    const bytes = await message.receive(maxMessageBytes);
    const body = parsed(bytes);
    if (body === undefined) return protocolError(-32700, "Parse error: expected JSON");
    if (Array.isArray(body)) return protocolError(-32600, "Invalid request: batches are not taken");
    const session = new Session(this.#host, message, identity);
    const received = { request, body, session, facts: factsOf(body) };
    return received.facts.method === "subscriptions/listen"
      ? await this.#listen(received)
      : await this.#answer(received);
  }

  async #answer(message: ReceivedMessage): Promise<Reply> {
    const cancelled = new AbortController();
    const left = AbortSignal.any([message.request.signal, cancelled.signal]);
    const response = await this.#protocol.respond({ ...message, left });
    return await replyOf(response, () => cancelled.abort());
  }

  /** Opens a stream of changes, unless the client has too many. */
  async #listen(message: ReceivedMessage): Promise<Reply> {
    const { request, body, session } = message;
    const leave = this.#listeners.enter(session.message.clientKey);
    if (leave === null) {
      const { id } = objectOf(body);
      return protocolError(-32603, "Subscription limit reached", { status: 200, id });
    }
    const { signal, clear } = this.#endOf(session.identity, request.signal);
    const finish = () => {
      signal.removeEventListener("abort", finish);
      clear();
      leave();
    };
    // A client that has left does not read the stream to its end.
    if (signal.aborted) finish();
    else signal.addEventListener("abort", finish);
    try {
      const reply = await this.#answer({ ...message, request: headOf(request, signal) });
      void (reply.ended ?? Promise.resolve()).then(finish);
      return reply;
    } catch (error) {
      finish();
      throw error;
    }
  }

  /** Returns when a stream without an end of its own ends: with the token, the client or the service. */
  #endOf(
    { claims }: Identity,
    client: AbortSignal,
  ): { readonly signal: AbortSignal; readonly clear: () => void } {
    const expired = new AbortController();
    const { exp } = JSON.parse(claims) as { readonly exp?: unknown };
    const left = typeof exp === "number" ? exp * 1000 - this.#host.now() : Infinity;
    const timer = left < maxTimerMs ? setTimeout(() => expired.abort(), Math.max(left, 0)) : null;
    return {
      signal: AbortSignal.any([client, this.#host.ending, expired.signal]),
      clear: () => {
        if (timer !== null) clearTimeout(timer);
      },
    };
  }
}

/** Most bytes of a message. */
const maxMessageBytes = 1024 * 1024;

/** Timers count milliseconds in 31 bits. */
const maxTimerMs = 2 ** 31 - 1;

/** Returns a request with the head of another one, which ends with a signal. */
function headOf({ url, method, headers }: Request, signal: AbortSignal): Request {
  return new Request(url, { method, headers, signal });
}

/** Returns the JSON of a body; undefined for other texts. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return parseExactly(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Returns what a message says about itself. The library checks its form. */
function factsOf(body: unknown): Omit<MessageFacts, "signal"> {
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

/** A text that cannot be a header would make the request fail (W3C Trace Context, section 3.2). */
function isTraceparent(text: string): boolean {
  return /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}

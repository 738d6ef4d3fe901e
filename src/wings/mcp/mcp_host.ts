/** The host of the endpoint for agents. It handles the paths, and sends the API requests that
 * messages cause. The endpoint itself is loaded with the first message. @module */
import type { Credential } from "../../state/auth/credential.ts";
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { Wing } from "../../api/wing.ts";
import type { DescribedOperation } from "../../api/response/openapi/described_operation.ts";
import type { Config } from "../../state/config/options.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { type Reply, withBookmark } from "../../api/response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import { receiveBody } from "../../api/request/body/body.ts";
import { RawDecoder } from "../../api/request/body/decoders.ts";
import { isParameterName } from "../../api/request/url/query_params.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { version } from "../../base/version.ts";
import { admitClient, admitIdentity, authenticateRequest } from "../../api/handler/admission.ts";
import { changedContext } from "../../api/handler/context.ts";
import { type Context, Exchange, type PathHost } from "../../api/handler/exchange.ts";
import type {
  LoadMcp,
  McpCall,
  McpEndpoint,
  McpHostInfo,
  McpMessage,
  McpReply,
} from "./mcp_port.ts";
import { answer, failureReply, permittedOperations } from "../../api/handler/pipeline.ts";
import { bodyOptions } from "../../api/handler/receive_body.ts";
import { identifiersOf } from "../../api/handler/receive.ts";
import { lengthError } from "../../api/request/length_limits.ts";
import { mcpErrors } from "./mcp_errors.ts";
import { type McpConfig, mcpOptions } from "./mcp_options.ts";
import { reportOutcome } from "../../api/handler/report.ts";

/** Loads the module in the same folder. In a bundle, it is `mcp.js`. */
export const loadMcp: LoadMcp = () => import(new URL("./endpoint.ts", import.meta.url).href);

/** Start of the path at which clients look for the issuers of tokens (RFC 9728, section 3.1). */
const metadataPrefix = "/.well-known/oauth-protected-resource";

/** Returns the wing. Its paths exist if `mcp-path` is set at the start. */
export function mcpWing(load: LoadMcp = loadMcp): Wing {
  return {
    name: "mcp",
    options: mcpOptions,
    errors: mcpErrors,
    openPaths: (appState) => {
      const { mcpPath } = appState.snapshot.config as McpConfig;
      return mcpPath === null ? null : new McpHost(appState, mcpPath, load);
    },
    requirePackages: async (config) => {
      const { mcpPath } = config as McpConfig;
      if (mcpPath === null) return;
      try {
        await (await load()).loadLibrary();
      } catch (cause) {
        throw new Error("mcp-path needs the package @modelcontextprotocol/server", { cause });
      }
    },
  };
}

/** The endpoint of a service. It exists from the first message on. */
class McpHost implements PathHost {
  readonly route = "_mcp";
  #opening: Promise<McpEndpoint> | null = null;
  /** Returns the context of API requests that a message causes. */
  readonly contextOf = changedContext((snapshot) => ({
    ...snapshot,
    config: limitedConfig(snapshot.config),
  }));

  /** The path is fixed, because the option is not reloadable. */
  constructor(
    private readonly appState: HandlerState,
    private readonly path: string,
    private readonly load: LoadMcp,
  ) {}

  /** Returns whether a raw path belongs to the endpoint. */
  matches(path: string): boolean {
    const { mcpAuthorizationServers } = this.appState.snapshot.config as McpConfig;
    return path === this.path ||
      (mcpAuthorizationServers !== null && path === metadataPrefix + this.path);
  }

  /** Returns the origins that CORS allows: `none` for no origin, null for any. */
  allowedOrigins(path: string): readonly string[] | null | "none" {
    if (path.startsWith(metadataPrefix)) return null;
    return (this.appState.snapshot.config as McpConfig).mcpAllowedOrigins ?? "none";
  }

  /** Responds to a request for one of the paths. Never rejects. */
  async respond(exchange: Exchange): Promise<Reply> {
    const message = new HostedMessage(exchange, this);
    try {
      admitClient(exchange);
      const endpoint = await this.#open();
      return message.answered(await endpoint(message));
    } catch (thrown) {
      return message.answered(message.fail(thrown));
    }
  }

  async #open(): Promise<McpEndpoint> {
    this.#opening ??= this.load().then(({ openEndpoint }) => openEndpoint(hostInfo(this.appState)));
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
}

/** Returns the configuration for API requests that a message causes. */
function limitedConfig(config: Config): Config {
  const { mcpMaxRows, mcpTimeout } = config as McpConfig;
  const limits = {
    embedMaxRows: Math.min(config.dbMaxRows ?? Infinity, mcpMaxRows),
    maxStatementTimeoutMs: Math.round(mcpTimeout * 1000),
  };
  return { ...config, ...limits };
}

/** Returns the configuration for requests of metadata, which agents may read whatever `openapi-mode` is. */
function metadataConfig(config: Config): Config {
  return { ...config, dbRootSpec: null, openapiMode: "follow-privileges" };
}

function hostInfo(appState: HandlerState): McpHostInfo {
  const { metricRegistry, dialect } = appState;
  const calls = metricRegistry.counter({
    name: "mcp_calls_total",
    help: "Calls of tools by agents",
    labels: ["tool", "outcome"],
  });
  return {
    serviceName: dialect.productToken,
    version,
    errors: mcpErrors,
    isParameterName,
    reportFailure: (error) => appState.observe({ kind: "unexpected-error", error }),
    countCall: (tool, outcome) => calls.increment(tool, outcome),
    reportWrite: (write) => appState.observe({ kind: "agent-write", ...write }),
  };
}

/** A request to the endpoint, in the form that the endpoint gets. */
class HostedMessage implements McpMessage {
  readonly request: Request;
  readonly path: string;
  readonly snapshot: McpMessage["snapshot"];
  /** The latest bookmark that a call returned; null before the first. */
  #bookmark: string | null = null;

  constructor(private readonly exchange: Exchange, private readonly host: McpHost) {
    this.request = exchange.request;
    this.path = exchange.raw.path;
    this.snapshot = exchange.context.snapshot as McpMessage["snapshot"];
  }

  async admit(audience: string | null): Promise<Identity> {
    const exchange = this.exchange;
    const expected = audience ?? this.snapshot.config.jwtAud;
    const identity = await authenticateRequest(exchange, expected);
    exchange.identity = identity;
    if (audience !== null) checkAudience(identity, exchange.credential, audience);
    admitIdentity(exchange, identity);
    return identity;
  }

  async receive(maxBytes: number): Promise<Uint8Array> {
    const defaults = bodyOptions(this.exchange);
    const limit = defaults.maxBytes === 0 ? maxBytes : Math.min(defaults.maxBytes, maxBytes);
    const options = { ...defaults, maxBytes: limit };
    const payload = await receiveBody(this.request, () => new RawDecoder("text"), options);
    return payload.kind === "raw" ? payload.bytes : new Uint8Array(0);
  }

  operations(): readonly DescribedOperation[] {
    return permittedOperations(this.exchange) ?? [];
  }

  fail(thrown: unknown): Reply {
    return failureReply(this.exchange, thrown);
  }

  /** Returns the reply of the endpoint, and adds the bookmark of the message's calls. */
  answered(reply: Reply): Reply {
    return withBookmark(reply, { bookmark: this.#bookmark });
  }

  async call(call: McpCall): Promise<McpReply> {
    const started = performance.timeOrigin + performance.now();
    const { info, statements, context: { appState } } = this.exchange;
    const exchange = this.#exchangeOf(call);
    const reply = await answer(exchange);
    this.#bookmark = reply.bookmark ?? this.#bookmark;
    statements?.push(...exchange.statements ?? []);
    if (call.tool !== null) {
      const end = performance.timeOrigin + performance.now();
      appState.traceStage?.(`tools/call ${call.tool}`, { start: started, end });
    }
    reportOutcome(exchange);
    const reload = appState.reloadIfStale(exchange.failure?.error ?? null);
    if (reload !== null) info.waitUntil?.(reload);
    return reply;
  }

  /** Returns the exchange of a call, with the identity of the message. */
  #exchangeOf(call: McpCall): Exchange {
    const { identity, credential, timing, info, context: { appState } } = this.exchange;
    const [request, raw] = this.#requestOf(call);
    const { config } = this.snapshot;
    const { identifiers } = this.exchange;
    const { client = null, waitUntil } = info;
    const exchange = new Exchange(request, this.#contextOf(call), {
      info: { client, ...(waitUntil === undefined ? {} : { waitUntil }) },
      raw,
      credential,
      identifiers: request.headers.has("traceparent")
        ? { ...identifiersOf(request, config, appState), requestId: identifiers.requestId }
        : identifiers,
      refusal: lengthError([], raw, config),
      timing,
    });
    exchange.identity = identity;
    if (call.subject === "metadata") exchange.rootReply = "metadata";
    return exchange;
  }

  #contextOf({ subject, isReadOnly }: McpCall): Context {
    const context = this.host.contextOf(this.exchange.context);
    const { snapshot, snapshot: { config } } = context;
    // Plans do not depend on `db-read-only`, so the plan cache can be used.
    if (isReadOnly) {
      return { ...context, snapshot: { ...snapshot, config: { ...config, dbReadOnly: true } } };
    }
    if (subject !== "metadata") return context;
    return { ...context, snapshot: { ...snapshot, config: metadataConfig(config) } };
  }

  /** Returns the request of a call, and the part of it that database code sees. */
  #requestOf(call: McpCall): readonly [Request, RawRequest] {
    const { method, path, query, body, signal } = call;
    const headers: Record<string, string> = {};
    const message = this.exchange.raw;
    for (const [name, value] of Object.entries(message.headers)) {
      if (!ofMessage.test(name)) headers[name] = value;
    }
    const profile = method === "GET" ? "accept-profile" : "content-profile";
    Object.assign(headers, {
      accept: call.subject === "metadata"
        ? "application/openapi+json;version=3.1"
        : "application/json",
      [profile]: call.schema,
      ...(call.prefer === undefined ? {} : { prefer: call.prefer }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
    });
    const { traceparent } = call.headers;
    const request = new Request(`http://localhost${path}${query === "" ? "" : `?${query}`}`, {
      method,
      signal,
      ...(body === undefined ? {} : { body }),
      headers: traceparent === undefined ? {} : { traceparent },
    });
    return [request, { method, path, query, headers, cookies: message.cookies }];
  }
}

/** Headers about the message, which do not apply to API requests. */
const ofMessage = new RegExp(
  "^(?:accept|accept-encoding|accept-profile|content-(?:encoding|length|profile|type)|expect|" +
    "idempotency-key|if-.*|prefer|range|range-unit|transfer-encoding)$",
);

/** Throws `301` if `aud` does not name the audience. `jwt-aud` would accept a token without `aud`. */
function checkAudience(
  { claims, key }: Identity,
  { token }: Pick<Credential, "token">,
  audience: string,
): void {
  if (token === null || key !== undefined) return;
  const { aud } = JSON.parse(claims) as { readonly aud?: unknown };
  const named = Array.isArray(aud) ? aud : [aud];
  if (!named.includes(audience)) throw errors.invalidClaims("JWT not in audience");
}

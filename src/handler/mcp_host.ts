/**
 * The host of the endpoint for agents: knows its paths, and makes the requests of the API that its
 * messages cause. The endpoint itself is loaded with the first message.
 *
 * @module
 */
import type { Credential } from "../auth/credential.ts";
import type { Identity } from "../auth/jwt_cache.ts";
import type { Config } from "../config/options.ts";
import { errors } from "../errors/catalogue.ts";
import { networkOf } from "../http/client_address.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestService } from "../service/request_service.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { receiveBody } from "../request/body.ts";
import { RawDecoder } from "../request/decoders.ts";
import { isFilter, isParameterName } from "../request/query_params.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { version } from "../version.ts";
import { withBookmark } from "./bookmarks.ts";
import { withHeaders } from "./execute.ts";
import type {
  LoadMcp,
  McpCall,
  McpEndpoint,
  McpHostFacts,
  McpMessage,
  McpReply,
} from "./mcp_port.ts";
import {
  authenticateRequest,
  bodyOptions,
  failedResult,
  type PipelineContext,
  type PipelineInput,
  type PipelineResult,
  runPipeline,
  startAdmission,
} from "./pipeline.ts";
import { reportOutcome } from "./report.ts";
import {
  checkBeforeToken,
  type CheckedRequest,
  checkIdentity,
  lengthError,
} from "./request_checks.ts";
import { identifiersOf } from "./request_identifiers.ts";

/** Loads the module beside this one. A bundle has it as `mcp.js`. */
export const loadMcp: LoadMcp = () => import(new URL("../mcp/endpoint.ts", import.meta.url).href);

/** Where clients look for the issuers of tokens (RFC 9728, section 3.1). */
const metadataPrefix = "/.well-known/oauth-protected-resource";

/** The endpoint of a service, from its first message on. */
export class McpHost {
  readonly #service: RequestService;
  readonly #load: LoadMcp;
  readonly #path: string;
  readonly #contexts = new WeakMap<Snapshot, PipelineContext>();
  #opening: Promise<McpEndpoint> | null = null;

  /** The path is that of the start: the option is not reloadable. */
  constructor(service: RequestService, path: string, load: LoadMcp) {
    this.#service = service;
    this.#path = path;
    this.#load = load;
  }

  /** Returns whether a raw path is one of the endpoint's. */
  matches(path: string): boolean {
    const { mcpAuthorizationServers } = this.#service.snapshot.config;
    return path === this.#path || path === `${this.#path}/llms.txt` ||
      (mcpAuthorizationServers !== null && path === metadataPrefix + this.#path);
  }

  /** Returns the origins that CORS allows; `none` for none, null for any. */
  allowedOrigins(path: string): readonly string[] | null | "none" {
    if (path.startsWith(metadataPrefix)) return null;
    return this.#service.snapshot.config.mcpAllowedOrigins ?? "none";
  }

  /** Answers a request to one of the paths. Never rejects. */
  async respond(
    request: Request,
    pieces: RawRequest,
    input: PipelineInput,
  ): Promise<PipelineResult> {
    const message = new HostedMessage(request, pieces, {
      input,
      service: this.#service,
      host: this,
    });
    try {
      message.chargeClient();
      const endpoint = await this.#open();
      return message.resultOf(await endpoint.respond(message));
    } catch (thrown) {
      return message.resultOf(message.fail(thrown));
    }
  }

  /** Returns the context of the requests that a message causes. */
  contextOf(context: PipelineContext): PipelineContext {
    const { snapshot } = context;
    const known = this.#contexts.get(snapshot);
    if (known !== undefined) return known;
    const limited = { ...snapshot, config: limitedConfig(snapshot.config) };
    const made = { ...context, snapshot: limited, planCache: new PlanCache(limited) };
    this.#contexts.set(snapshot, made);
    return made;
  }

  async #open(): Promise<McpEndpoint> {
    this.#opening ??= this.#load().then(({ openEndpoint }) => {
      const endpoint = openEndpoint(hostFacts(this.#service));
      this.#service.onReload = () => endpoint.notifyToolsChanged();
      return endpoint;
    });
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
}

/** Returns the configuration of requests that a message causes. */
function limitedConfig(config: Config): Config {
  const limits = {
    embedMaxRows: Math.min(config.dbMaxRows ?? Infinity, config.mcpMaxRows),
    maxStatementTimeoutMs: Math.round(config.mcpTimeout * 1000),
  };
  return { ...config, ...limits };
}

/** Returns the configuration of requests for metadata, which an agent may read in any mode. */
function metadataConfig(config: Config): Config {
  return { ...config, dbRootSpec: null, openapiMode: "follow-privileges" };
}

function hostFacts(service: RequestService): McpHostFacts {
  const { metricRegistry, ending, now, dialect } = service;
  const calls = metricRegistry.counter({
    name: "mcp_calls_total",
    help: "Calls of tools by agents",
    labels: ["tool", "outcome"],
  });
  return {
    serviceName: dialect.productToken,
    version,
    errors,
    isParameterName,
    isFilter,
    ending,
    now,
    reportFailure: (error) => service.observe({ kind: "unexpected-error", error }),
    countCall: ({ tool, outcome }) => calls.increment(tool, outcome),
    reportWrite: (write) => service.observe({ kind: "agent-write", ...write }),
  };
}

/** A request to the endpoint, as the endpoint sees it. */
class HostedMessage implements McpMessage {
  readonly request: Request;
  readonly #pieces: RawRequest;
  readonly #input: PipelineInput;
  readonly #service: RequestService;
  readonly #host: McpHost;
  readonly #checked: CheckedRequest;
  #identity: Identity | null = null;
  #failure: Omit<PipelineResult, "targetNameUses"> | null = null;
  /** That of the last call that has one. */
  #bookmark: string | null = null;

  constructor(
    request: Request,
    pieces: RawRequest,
    { input, service, host }: {
      readonly input: PipelineInput;
      readonly service: RequestService;
      readonly host: McpHost;
    },
  ) {
    const { context, client, credential } = input;
    this.request = request;
    this.#pieces = pieces;
    this.#input = input;
    this.#checked = {
      request,
      pieces,
      credential,
      config: context.snapshot.config,
      admission: startAdmission(pieces, context, client),
      addedHeaders: [],
    };
    this.#service = service;
    this.#host = host;
  }

  get path(): string {
    return this.#pieces.path;
  }

  get snapshot(): Snapshot {
    return this.#input.context.snapshot;
  }

  get clientKey(): string {
    const { iss, sub } = JSON.parse(this.#identity!.claims) as Readonly<Record<string, unknown>>;
    if (typeof sub === "string") return JSON.stringify(["subject", iss, sub]);
    const client = this.#input.client();
    return JSON.stringify(["network", client === null ? null : networkOf(client)]);
  }

  /** Counts the request for policies that need no token. Throws the error of a refusal. */
  chargeClient(): void {
    if (this.#input.refusal !== null) throw this.#input.refusal;
    checkBeforeToken(this.#checked);
  }

  async admit(audience: string | null): Promise<Identity> {
    const { context, credential, scope } = this.#input;
    const checked = this.#checked;
    const expected = audience ?? context.snapshot.config.jwtAud;
    const identity = await authenticateRequest({ context, scope, checked }, expected);
    this.#identity = identity;
    if (audience !== null) checkAudience(identity, credential, audience);
    checkIdentity(checked, identity);
    return identity;
  }

  async receive(maxBytes: number): Promise<Uint8Array> {
    const { context, isContended } = this.#input;
    const own = bodyOptions({ context, isContended, caller: this.request });
    const limit = own.maxBytes === 0 ? maxBytes : Math.min(own.maxBytes, maxBytes);
    const options = { ...own, maxBytes: limit };
    const payload = await receiveBody(this.request, () => new RawDecoder("text"), options);
    return payload.kind === "raw" ? payload.bytes : new Uint8Array(0);
  }

  fail(thrown: unknown): Reply {
    const { context } = this.#input;
    this.#failure = failedResult(thrown, this.#identity, {
      pieces: this.#pieces,
      caller: this.request,
      context,
    });
    return this.#failure.reply;
  }

  /** Returns the result of the message, whose reply the endpoint has made. */
  resultOf(made: Reply): PipelineResult {
    const { thrown = null, error = null, advice = null } = this.#failure ?? {};
    const { admission, addedHeaders } = this.#checked;
    const headers = [...addedHeaders, ...admission?.headers() ?? []];
    const reply = withBookmark(withHeaders(made, headers), { bookmark: this.#bookmark });
    const role = this.#identity?.role ?? null;
    return { reply, role, thrown, error, advice, targetNameUses: [] };
  }

  async call(call: McpCall): Promise<McpReply> {
    const started = performance.timeOrigin + performance.now();
    const [request, pieces] = this.#requestOf(call);
    const input = { ...this.#input, ...this.#identityInput(), context: this.#contextOf(call) };
    const { requestId } = input.identifiers;
    const identifiers = request.headers.has("traceparent")
      ? { ...identifiersOf(request, this.snapshot.config, this.#service), requestId }
      : input.identifiers;
    const rootReply = call.subject === "metadata" ? "metadata" as const : "document" as const;
    const refusal = lengthError([], pieces, this.snapshot.config);
    const ofCall = { ...input, identifiers, rootReply, refusal };
    const result = await runPipeline(request, pieces, ofCall);
    this.#bookmark = result.reply.bookmark ?? this.#bookmark;
    const { context, scope } = this.#input;
    if (call.tool !== null) {
      const end = performance.timeOrigin + performance.now();
      context.traceStage?.(`tools/call ${call.tool}`, { start: started, end });
    }
    reportOutcome(this.#service, request, { result, config: context.snapshot.config });
    const reload = this.#service.reloadIfStale(result.error);
    if (reload !== null && scope.waitUntil !== null) scope.waitUntil(reload);
    return result.reply;
  }

  #contextOf({ subject, isReadOnly }: McpCall): PipelineContext {
    const context = this.#host.contextOf(this.#input.context);
    const { snapshot, snapshot: { config } } = context;
    // The configuration of plans stays the same.
    if (isReadOnly) {
      return { ...context, snapshot: { ...snapshot, config: { ...config, dbReadOnly: true } } };
    }
    if (subject !== "metadata") return context;
    return { ...context, snapshot: { ...snapshot, config: metadataConfig(config) } };
  }

  #identityInput(): Pick<PipelineInput, "isContended"> & { readonly identity?: Identity } {
    const identity = this.#identity;
    return { isContended: null, ...(identity === null ? {} : { identity }) };
  }

  /** Returns the request, and its parts as database code sees them. */
  #requestOf(call: McpCall): readonly [Request, RawRequest] {
    const { method, path, query, body, signal } = call;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.#pieces.headers)) {
      if (!headersOfMessage.has(name)) headers[name] = value;
    }
    const profile = method === "GET" ? "accept-profile" : "content-profile";
    Object.assign(headers, {
      accept: call.accept ?? "application/json",
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
    return [request, { method, path, query, headers, cookies: this.#pieces.cookies }];
  }
}

/** Headers that are about the message, not about the requests that it causes. */
const headersOfMessage: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-profile",
  "content-encoding",
  "content-length",
  "content-profile",
  "content-type",
  "expect",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "prefer",
  "range",
  "range-unit",
  "transfer-encoding",
]);

/** Throws `301` for a token without `aud`, which `jwt-aud` would let pass. */
function checkAudience(
  { claims }: Identity,
  { token }: Pick<Credential, "token">,
  audience: string,
): void {
  if (token === null) return;
  const { aud } = JSON.parse(claims) as { readonly aud?: unknown };
  const named = Array.isArray(aud) ? aud : [aud];
  if (!named.includes(audience)) throw errors.invalidClaims("JWT not in audience");
}

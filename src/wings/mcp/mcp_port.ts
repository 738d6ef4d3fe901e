/**
 * The interface between the host and the endpoint for agents (`src/wings/mcp/`). The endpoint is
 * loaded with the first message, and may be in another bundle. Therefore, it uses the handler only
 * by these types. @module
 */
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { DescribedOperation } from "../../api/response/openapi/described_operation.ts";
import type { AgentWrite } from "../../base/observe/observation.ts";
import type { Reply } from "../../api/response/reply.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { mcpErrors } from "./mcp_errors.ts";
import type { McpConfig } from "./mcp_options.ts";

export interface McpModule {
  /** Rejects if the library cannot be loaded. */
  readonly openEndpoint: (host: McpHostInfo) => Promise<McpEndpoint>;
  /** Loads the library of the protocol. Rejects if its package is missing. */
  readonly loadLibrary: () => Promise<unknown>;
}

export type LoadMcp = () => Promise<McpModule>;

/** Name of the method of a handler that `withMcp` calls. The symbol is the same in all bundles. */
export const mcpExtension: unique symbol = Symbol.for("svc.mcp") as never;

/** A handler to which another module adds the endpoint. */
export interface ExtensibleHandler {
  /** Sets the endpoint, and options by their names in camel case. Throws after the first request. */
  readonly [mcpExtension]?: (load: LoadMcp, options: Readonly<Record<string, unknown>>) => void;
}

/** Responds to a request for one of the endpoint's paths. Rejects if a method of the message rejects. */
export type McpEndpoint = (message: McpMessage) => Promise<Reply>;

/** Properties of the service that do not change. */
export interface McpHostInfo {
  /** Name of the service in its dialect. */
  readonly serviceName: string;
  readonly version: string;
  readonly errors: typeof mcpErrors;
  /** Returns whether a query parameter of this name can be something other than a filter. */
  readonly isParameterName: (name: string) => boolean;
  /** Reports a failure within the protocol's library. */
  readonly reportFailure: (error: unknown) => void;
  /** Counts a finished call of an existing tool, or of `_unknown`. */
  readonly countCall: (tool: string, outcome: McpOutcome) => void;
  readonly reportWrite: (write: Omit<AgentWrite, "kind">) => void;
}

/** `invalid`: the arguments are wrong. `error`: the API rejected the request, or it failed. */
export type McpOutcome = "success" | "error" | "invalid";

/** A request for one of the endpoint's paths. */
export interface McpMessage {
  readonly request: Request;
  /** The path as received. */
  readonly path: string;
  readonly snapshot: Snapshot & { readonly config: McpConfig };
  /**
   * Verifies the token, and charges the policies of `rate-limits` that need it. `audience` is the
   * URI that the token must name; null means that `jwt-aud` decides. Rejects with errors of the
   * API.
   */
  admit(audience: string | null): Promise<Identity>;
  /** Receives and decodes the body. Rejects with errors of the API. */
  receive(maxBytes: number): Promise<Uint8Array>;
  /** Returns the API's reply for an error, and reports it as the error of the request. */
  fail(thrown: unknown): Reply;
  /** The requests that the role may send; empty if the server does not restrict them. */
  operations(): readonly DescribedOperation[];
  /** Sends an API request in this process, with the identity of the message. Never rejects. */
  call(request: McpCall): Promise<McpReply>;
}

/** An API request that a message causes. */
export interface McpCall {
  /** Name of the tool; null for a resource or the list of tools. */
  readonly tool: string | null;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Percent-encoded. */
  readonly path: string;
  /** Percent-encoded, without the question mark. */
  readonly query: string;
  readonly schema: string;
  /** `path`: the call reads `path`. `metadata`: it reads the metadata of the schema. Default: `path`. */
  readonly subject?: "path" | "metadata";
  /** Whether the transaction is read-only, with any method. Default: the method decides. */
  readonly isReadOnly?: boolean;
  readonly prefer?: string;
  /** JSON text. */
  readonly body?: string;
  /** Headers that database code sees. They override headers of the message. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The reply of the API. */
export type McpReply = Pick<Reply, "content" | "headers" | "length" | "status">;

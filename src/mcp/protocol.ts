/** Speaks the protocol, by its official library, which is loaded with the first message. @module */
import type { McpHttpHandler, Server } from "@modelcontextprotocol/server";
import type { McpHostFacts } from "../agents/mcp_port.ts";
import { instructions } from "./guide.ts";
import { InvalidParams } from "./invalid_params.ts";
import { readResource, resources, resourceTemplates } from "./resources.ts";
import { ApiFailure, type MessageFacts, type Session } from "./session.ts";
import { errorOf } from "./tool_result.ts";
import { type ToolDefinition } from "./tool_schemas.ts";
import { callTool, type CheckArguments, listTools } from "./tools.ts";

/** The library of the protocol. */
export type Library = typeof import("@modelcontextprotocol/server");

/** A message that the library answers. */
export interface ProtocolMessage {
  readonly request: Request;
  /** The body of the request, parsed. */
  readonly body: unknown;
  readonly session: Session;
  readonly facts: Omit<MessageFacts, "signal">;
  /** Aborted when the client has left. */
  readonly left: AbortSignal;
}

/** Most streams that wait for changes of the tools. */
const maxListeners = 100;

/** Milliseconds for which clients may keep the list of tools. */
const toolsTtlMs = 60_000;

const capabilities = { tools: { listChanged: true }, resources: {} };

/** The library, opened for one endpoint. */
export class Protocol {
  readonly #host: McpHostFacts;
  readonly #load: () => Promise<Library>;
  #opening: Promise<OpenedProtocol> | null = null;
  #opened: OpenedProtocol | null = null;

  /** `load` is called with the first message. */
  constructor(host: McpHostFacts, load: () => Promise<Library>) {
    this.#host = host;
    this.#load = load;
  }

  /** Answers a message. */
  async respond(message: ProtocolMessage): Promise<Response> {
    const { request, body } = message;
    this.#opened ??= await this.#open();
    // The library hands `extra` to the server that it makes for this message.
    const authInfo = { token: "", clientId: "", scopes: [], extra: { message } };
    return await this.#opened.handler.fetch(request, { parsedBody: body, authInfo });
  }

  /** Tells clients that listen that their tools may have changed. */
  notifyToolsChanged(): void {
    this.#opened?.handler.notify.toolsChanged();
  }

  async #open(): Promise<OpenedProtocol> {
    this.#opening ??= this.#load().then((library) => new OpenedProtocol(library, this.#host));
    try {
      return await this.#opening;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
}

type Handlers = Readonly<
  Record<string, (server: Server, message: ProtocolMessage) => void>
>;

/** Handlers of the library's requests. */
class OpenedProtocol {
  readonly handler: McpHttpHandler;
  readonly #library: Library;
  readonly #host: McpHostFacts;
  readonly #checks = new Map<string, ReturnType<Library["fromJsonSchema"]>>();

  constructor(library: Library, host: McpHostFacts) {
    this.#library = library;
    this.#host = host;
    this.handler = library.createMcpHandler(
      ({ authInfo }) => this.#serverOf(authInfo?.extra?.["message"] as ProtocolMessage),
      { maxSubscriptions: maxListeners },
    );
  }

  /** Makes the server for one message. It handles the method of that message. */
  #serverOf(message: ProtocolMessage): Server {
    const { serviceName: name, version } = this.#host;
    const cacheHints = { "tools/list": { ttlMs: toolsTtlMs, cacheScope: "private" } } as const;
    const server = new this.#library.Server({ name, version }, {
      capabilities,
      instructions,
      cacheHints,
    });
    const { method } = message.facts;
    if (Object.hasOwn(this.#handlers, method)) this.#handlers[method]!(server, message);
    return server;
  }

  readonly #handlers: Handlers = {
    "tools/list": (server, { session, facts, left }) =>
      server.setRequestHandler("tools/list", (_, { mcpReq }) =>
        this.#answer(async () => ({
          tools: [...await listTools(session, { ...facts, signal: either(left, mcpReq.signal) })],
        }))),
    "tools/call": (server, { session, facts, left }) =>
      server.setRequestHandler("tools/call", ({ params }, { mcpReq }) =>
        this.#answer(async () => {
          const signal = either(left, mcpReq.signal);
          const result = await callTool(params, session, { ...facts, signal }, this.#check);
          return { ...result, content: [...result.content] };
        })),
    "resources/list": (server) =>
      server.setRequestHandler("resources/list", () => ({ resources: [...resources] })),
    "resources/templates/list": (server) =>
      server.setRequestHandler("resources/templates/list", () => ({
        resourceTemplates: [...resourceTemplates],
      })),
    "resources/read": (server, { session, facts, left }) =>
      server.setRequestHandler(
        "resources/read",
        ({ params }, { mcpReq }) =>
          this.#answer(async () => {
            const signal = either(left, mcpReq.signal);
            return { contents: [await readResource(params.uri, session, { ...facts, signal })] };
          }),
      ),
  };

  /** Runs a handler. Makes an error of the protocol, which shows nothing internal, of a thrown value. */
  async #answer<Result>(run: () => Promise<Result>): Promise<Result> {
    const {
      ProtocolError,
      ProtocolErrorCode: { InvalidParams: invalid, InternalError: internal },
    } = this.#library;
    try {
      return await run();
    } catch (thrown) {
      if (thrown instanceof InvalidParams) throw new ProtocolError(invalid, thrown.message);
      if (thrown instanceof ApiFailure) {
        const { content: [text] } = await errorOf(thrown.reply, maxErrorBytes);
        throw new ProtocolError(internal, text!.text);
      }
      this.#host.reportFailure(thrown);
      throw new ProtocolError(internal, "Internal error");
    }
  }

  readonly #check: CheckArguments = async ({ name, inputSchema }: ToolDefinition, values) => {
    let schema = this.#checks.get(name);
    if (schema === undefined) {
      this.#checks.set(name, schema = this.#library.fromJsonSchema(inputSchema));
    }
    const { issues = [] } = await schema["~standard"].validate(values);
    return issues.length === 0 ? null : issues.map(({ message }) => message).join("; ");
  };
}

const maxErrorBytes = 65_536;

function either(one: AbortSignal, other: AbortSignal): AbortSignal {
  return AbortSignal.any([one, other]);
}

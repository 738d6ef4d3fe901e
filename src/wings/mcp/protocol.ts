/** Implements the protocol by its official library. @module */
import type { Server } from "@modelcontextprotocol/server";
import type { McpHostInfo } from "./mcp_port.ts";
import { guide, instructions } from "./guide.ts";
import { ApiFailure, InvalidParams, type Session } from "./session.ts";
import { errorOf } from "./tool_result.ts";
import { callTool, type CheckArguments, listTools } from "./tools.ts";

export type Library = typeof import("@modelcontextprotocol/server");

/** Responds to the message of a session. `body` is the parsed message. */
export type AnswerMessage = (session: Session, body: unknown) => Promise<Response>;

/** Milliseconds for which clients may cache the list of tools. */
const toolsTtlMs = 60_000;

const cacheHints = { "tools/list": { ttlMs: toolsTtlMs, cacheScope: "private" } } as const;

const guideResource = {
  uri: "svc://guide",
  name: "guide",
  title: "Grammar of calls",
  mimeType: "text/markdown",
} as const;

/** Opens the library for one endpoint. */
export function openProtocol(library: Library, host: McpHostInfo): AnswerMessage {
  const check = argumentsCheck(library);
  const { serviceName: name, version } = host;
  /** Returns the server for one message. */
  const serverOf = (session: Session): Server => {
    const capabilities = { tools: {}, resources: {} };
    const server = new library.Server({ name, version }, {
      capabilities,
      instructions,
      cacheHints,
    });
    const answer = <Result>(run: () => Promise<Result>) => answered(run, library, host);
    server.setRequestHandler(
      "tools/list",
      () => answer(async () => ({ tools: [...await listTools(session)] })),
    );
    server.setRequestHandler("tools/call", ({ params }) =>
      answer(async () => {
        const result = await callTool(params, session, check);
        return { ...result, content: [...result.content] };
      }));
    server.setRequestHandler("resources/list", () => ({ resources: [guideResource] }));
    server.setRequestHandler("resources/read", ({ params: { uri } }) => {
      const { InvalidParams: invalid } = library.ProtocolErrorCode;
      if (uri !== guideResource.uri) throw new library.ProtocolError(invalid, "Unknown resource");
      return { contents: [{ uri, mimeType: guideResource.mimeType, text: guide }] };
    });
    return server;
  };
  const handler = library.createMcpHandler(
    ({ authInfo }) => serverOf(authInfo?.extra?.["session"] as Session),
  );
  return async function answerMessage(session, body) {
    // Passes the session in `extra`, which the library hands to the server that it makes for this message.
    const authInfo = { token: "", clientId: "", scopes: [], extra: { session } };
    return await handler.fetch(session.message.request, { parsedBody: body, authInfo });
  };
}

/** Runs a handler. A thrown value becomes an error of the protocol, without internal data. */
async function answered<Result>(
  run: () => Promise<Result>,
  { ProtocolError, ProtocolErrorCode }: Library,
  host: McpHostInfo,
): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof InvalidParams) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, thrown.message);
    }
    if (thrown instanceof ApiFailure) {
      const { content: [text] } = await errorOf(thrown.reply);
      throw new ProtocolError(ProtocolErrorCode.InternalError, text!.text);
    }
    host.reportFailure(thrown);
    throw new ProtocolError(ProtocolErrorCode.InternalError, "Internal error");
  }
}

/** Returns the check of arguments, which caches the compiled schemas of tools. */
function argumentsCheck({ fromJsonSchema }: Library): CheckArguments {
  const schemas = new Map<string, ReturnType<Library["fromJsonSchema"]>>();
  return async function check({ inputSchema }, values) {
    // The key is the schema, not the name, because a reload may change the tools of operations.
    const key = JSON.stringify(inputSchema);
    const schema = schemas.get(key) ?? fromJsonSchema(inputSchema);
    schemas.set(key, schema);
    const { issues = [] } = await schema["~standard"].validate(values);
    return issues.length === 0 ? null : issues.map(({ message }) => message).join("; ");
  };
}

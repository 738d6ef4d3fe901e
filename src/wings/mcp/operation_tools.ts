/** Tools for permitted requests: `mcp-tools = "operations"`. @module */
import {
  type DescribedOperation,
  fillTemplate,
} from "../../api/response/openapi/described_operation.ts";
import { relationOf } from "../../api/transaction/data_plan.ts";
import type { McpConfig } from "./mcp_options.ts";
import { mayWrite } from "./privileges.ts";
import { contentResult, rowsResult } from "./query_tools.ts";
import type { Session } from "./session.ts";
import { errorOf, type ToolResult } from "./tool_result.ts";
import type { ToolDefinition } from "./tool_schemas.ts";
import { contentOfWrite } from "./write_tools.ts";

/** A tool, and its request. */
export interface OperationTool {
  readonly definition: ToolDefinition;
  readonly operation: DescribedOperation;
}

/** Returns the tools for the role of a session. Tools that write also need `mcp-write`. */
export function operationTools({ message, config }: Session): readonly OperationTool[] {
  return message.operations().filter((each) => isUsable(each, config)).map((operation) => ({
    operation,
    definition: definitionOf(operation),
  }));
}

function isReading({ plan }: DescribedOperation): boolean {
  return plan.kind === "read" || plan.kind === "call" && plan.call.access === "read only";
}

function isUsable(operation: DescribedOperation, config: McpConfig): boolean {
  const { plan, method } = operation;
  if (method === "PUT" || method === "QUERY") return false;
  const target = plan.kind === "call" ? plan.call.routine : relationOf(plan);
  return isReading(operation) || target !== null && mayWrite(target, config);
}

function definitionOf(operation: DescribedOperation): ToolDefinition {
  const { name, method, path, parameters, body } = operation;
  const schemas = parameters.map(({ name, schema }) => [name, schema] as const);
  const required = parameters.filter(({ fallback }) => fallback === undefined);
  return {
    name,
    description: `${method} ${decodeURIComponent(path)}`,
    inputSchema: {
      type: "object",
      properties: { ...Object.fromEntries(schemas), ...body === null ? {} : { body } },
      required: [...required.map(({ name }) => name), ...body === null ? [] : ["body"]],
      additionalProperties: false,
    },
    annotations: {
      readOnlyHint: isReading(operation),
      destructiveHint: method === "DELETE",
      openWorldHint: false,
    },
  };
}

/** Sends the request of a tool. */
export async function callOperation(
  { operation, definition: { annotations } }: OperationTool,
  { body, ...values }: Readonly<Record<string, unknown>>,
  session: Session,
): Promise<ToolResult> {
  const { path, method, headers } = operation;
  const { "accept-profile": reading, "content-profile": writing, prefer, ...others } = headers;
  const call = {
    method: method as "DELETE" | "GET" | "PATCH" | "POST",
    path,
    query: fillTemplate(operation, values),
    schema: session.schemaOf(reading ?? writing),
    isReadOnly: annotations.readOnlyHint,
    ...prefer === undefined ? {} : { prefer },
    ...body === undefined ? {} : { body: JSON.stringify(body) },
  };
  const reply = await session.call(call, others);
  if (annotations.readOnlyHint) return await rowsResult(call, reply, null, session);
  const content = await contentOfWrite(call, reply, session);
  return content === null ? await errorOf(reply) : contentResult(call, content, null, session);
}

/** The tools of a role, and the functions that they run. @module */
import { type McpConfig, operationsWord } from "./mcp_options.ts";
import { callOperation, operationTools } from "./operation_tools.ts";
import { typeSchema } from "../../api/response/openapi/v3_schemas.ts";
import type { Routine } from "../../state/schema_cache/schema_cache.ts";
import { describeRelation, listRelations, shortComment } from "./catalog_tools.ts";
import { callFunction, query } from "./query_tools.ts";
import { ApiFailure, InvalidParams, type Session } from "./session.ts";
import { readTools, type ToolDefinition, writeTools } from "./tool_schemas.ts";
import { errorOf, type ToolResult } from "./tool_result.ts";
import {
  mayWrite,
  type RoleView,
  roleView,
  type ToolFunction,
  toolFunctions,
} from "./privileges.ts";
import { deleteRows, insertRows, updateRows } from "./write_tools.ts";

/** Checks arguments by the schema of a tool. Returns the problem, or null. */
export type CheckArguments = (tool: ToolDefinition, values: unknown) => Promise<string | null>;

/** The function of a tool, and whether there is an object with which a role can use the tool. */
interface Tool {
  readonly run: (args: never, session: Session) => Promise<ToolResult>;
  readonly isUsable: (views: readonly RoleView[], config: McpConfig) => boolean;
}

const hasRoutine: Tool["isUsable"] = (views) => views.some(({ routines }) => routines.length > 0);

const hasAny: Tool["isUsable"] = (views, config) =>
  views.some(({ relations }) => relations.length > 0) || hasRoutine(views, config);

const has = (method: "get" | "post" | "patch" | "delete"): Tool["isUsable"] => (views, config) =>
  views.some((view) =>
    view.relations.some((relation) =>
      view.methods(relation).includes(method) && (method === "get" || mayWrite(relation, config))
    )
  );

const tools: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ["list_relations", { run: listRelations, isUsable: hasAny }],
  ["describe_relation", { run: describeRelation, isUsable: hasAny }],
  ["query", { run: query, isUsable: has("get") }],
  ["call_function", { run: callFunction, isUsable: hasRoutine }],
  ["insert_rows", { run: insertRows, isUsable: has("post") }],
  ["update_rows", { run: updateRows, isUsable: has("patch") }],
  ["delete_rows", { run: deleteRows, isUsable: has("delete") }],
]);

/** Returns the tools that a configuration permits, except tools for single functions. */
function configuredTools({ mcpTools, mcpWrite }: McpConfig): readonly ToolDefinition[] {
  const reading = readTools.filter(({ name }) => mcpTools.includes(name));
  return mcpWrite === null ? reading : [...reading, ...writeTools];
}

/** Matches the names of tools that clients accept. */
const toolName = /^[A-Za-z0-9_.-]{1,128}$/;

/** Lists the tools for which the role has a use, in a fixed order. Throws `ApiFailure`. */
export async function listTools(
  session: Session,
): Promise<readonly ToolDefinition[]> {
  const { config } = session;
  if (config.mcpTools.includes(operationsWord)) {
    return operationTools(session).map(({ definition }) => definition);
  }
  const views: RoleView[] = [];
  for (const schema of config.dbSchemas) views.push(await roleView(schema, session));
  return [
    ...configuredTools(config).filter(({ name }) => tools.get(name)!.isUsable(views, config)),
    ...toolFunctions(config).flatMap(({ schema, name, tool }) => {
      const routine = views.find((view) => view.schema === schema)?.overloads(name).at(-1);
      return routine === undefined || !toolName.test(tool) ? [] : [functionTool(tool, routine)];
    }),
  ];
}

function functionTool(tool: string, routine: Routine): ToolDefinition {
  const { name, parameters, volatility, comment } = routine;
  const named = parameters.filter((parameter) => parameter.name !== "");
  return {
    name: tool,
    description: shortComment(comment) ?? `Calls the function ${name}`,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        named.map((parameter) => [parameter.name, typeSchema(parameter.type)]),
      ),
      required: named.filter(({ required }) => required).map((parameter) => parameter.name),
      additionalProperties: false,
    },
    annotations: { readOnlyHint: volatility !== "volatile", openWorldHint: false },
  };
}

/** A call of a tool, as received. */
interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/** Calls a tool. Errors of the API become results, so that the model can correct its call. Throws
 * `InvalidParams` for an unknown tool and for wrong arguments. */
export async function callTool(
  { name, arguments: values = {} }: ToolCall,
  session: Session,
  check: CheckArguments,
): Promise<ToolResult> {
  const { host, config } = session;
  const isPermitted = config.mcpTools.includes(operationsWord);
  const operations = isPermitted ? operationTools(session) : [];
  const operation = operations.find(({ definition }) => definition.name === name);
  const ofFunction = isPermitted
    ? undefined
    : toolFunctions(config).find(({ tool }) => tool === name);
  const tool = isPermitted
    ? operation?.definition
    : configuredTools(config).find((each) => each.name === name);
  const label = tool !== undefined || ofFunction !== undefined ? name : "_unknown";
  try {
    if (ofFunction === undefined) await checkCall(tool, { name, arguments: values }, check);
    const result = ofFunction !== undefined
      ? await callFunctionTool(ofFunction, values, session)
      : operation !== undefined
      ? await callOperation(operation, values, session)
      : await tools.get(name)!.run(values as never, session);
    host.countCall(label, result.isError ? "error" : "success");
    return result;
  } catch (thrown) {
    if (thrown instanceof ApiFailure) {
      host.countCall(label, "error");
      return await errorOf(thrown.reply);
    }
    host.countCall(label, thrown instanceof InvalidParams ? "invalid" : "error");
    throw thrown;
  }
}

/** Throws `InvalidParams` for an unknown tool and for wrong arguments. */
async function checkCall(
  tool: ToolDefinition | undefined,
  { name, arguments: values }: ToolCall,
  check: CheckArguments,
): Promise<void> {
  if (tool === undefined) throw new InvalidParams(`Unknown tool: ${name}`);
  const problem = await check(tool, values);
  if (problem !== null) throw new InvalidParams(`${name}: ${problem}`);
}

async function callFunctionTool(
  { schema, name, tool }: ToolFunction,
  values: Readonly<Record<string, unknown>>,
  session: Session,
): Promise<ToolResult> {
  const routines = session.cache?.routines({ schema, name }) ?? [];
  const names = new Set(routines.flatMap(({ parameters }) => parameters.map((each) => each.name)));
  const unknown = Object.keys(values).find((key) => !names.has(key));
  if (routines.length > 0 && unknown !== undefined) {
    throw new InvalidParams(`${tool}: no parameter ${JSON.stringify(unknown)}`);
  }
  return await callFunction({ function: name, schema, arguments: values }, session);
}

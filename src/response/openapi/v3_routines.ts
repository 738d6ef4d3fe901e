/** The paths of functions in an OpenAPI 3.1 document. @module */
import { aboutTarget, queryName } from "./names.ts";
import type { Parameter, Routine } from "../../schema_cache/schema_cache.ts";
import {
  bookmarkHeaders,
  clausesOf,
  type HeaderContext,
  readHeaders,
  shared,
  type SharedParameter,
  writeHeaders,
} from "./v3_parameters.ts";
import {
  errorResponse,
  notModified,
  pageHeaders,
  resultContent,
  tagHeader,
} from "./v3_responses.ts";
import { argumentsSchema, rowReference } from "./v3_schemas.ts";
import { namedTypeSchema, type Schema, typeSchema } from "./v3_types.ts";
import { rawBodyType } from "./v2_paths.ts";

export interface V3RoutineContext extends HeaderContext {
  readonly vendor: string;
  readonly schema: string;
  /** Returns whether the document describes a relation of the schema. */
  readonly isDescribed: (relation: string) => boolean;
}

/** Returns the path of a function: POST, and GET unless the function is volatile. */
export function routinePath(routine: Routine, context: V3RoutineContext): unknown {
  const [only] = routine.parameters;
  const unnamed = routine.parameters.length === 1 && only?.name === "" ? only : null;
  const reads = routine.volatility !== "volatile" && !unnamed?.required;
  const post = postOperation(routine, unnamed, context);
  return reads ? { get: getOperation(routine, unnamed, context), post } : { post };
}

function about(verb: string, routine: Routine) {
  const { name } = routine;
  return { operationId: `${verb}_${name}`, tags: [`(rpc) ${name}`], ...aboutTarget(routine) };
}

/** Returns the parameters of the result. Sets can be filtered and ordered like relations. */
function resultParameters({ returns, parameters }: Routine): readonly SharedParameter[] {
  if (returns.set) {
    const names = parameters.map(({ name }) => name);
    const clauses = returns.composite
      ? clausesOf({ names, hasKey: returns.relation !== null })
      : [];
    return ["select", "order", "limit", "offset", ...clauses, "preferCall"];
  }
  return returns.composite ? ["select", "preferCall"] : ["preferCall"];
}

function getOperation(
  routine: Routine,
  unnamed: Parameter | null,
  context: V3RoutineContext,
) {
  const own = unnamed === null ? routine.parameters.flatMap(queryParameter) : [];
  const names = [...resultParameters(routine), ...readHeaders(context)];
  return {
    ...about("query", routine),
    parameters: [...own, ...names.map(shared)],
    responses: {
      ...responsesOf(routine, context),
      ...(routine.returns.void ? {} : { "304": notModified }),
    },
  };
}

function postOperation(routine: Routine, unnamed: Parameter | null, context: V3RoutineContext) {
  const names = [
    ...resultParameters(routine),
    ...writeHeaders(context).filter((name) =>
      name !== "idempotencyKey" || routine.volatility === "volatile"
    ),
    ...(routine.volatility === "volatile" ? [] : bookmarkHeaders(context)),
  ];
  return {
    ...about("call", routine),
    parameters: names.map(shared),
    requestBody: unnamed === null ? argumentsBody(routine) : rawBody(unnamed),
    responses: responsesOf(routine, context),
  };
}

function argumentsBody({ comment, parameters }: Routine) {
  const described = parameters.map(({ name, type, required }) => ({
    name,
    required,
    schema: typeSchema(type),
  }));
  return {
    required: parameters.some(({ required }) => required),
    content: { "application/json": { schema: argumentsSchema(comment, described) } },
  };
}

function rawBody({ type, required }: Parameter) {
  const schema = rawBodyType(type) === "application/json" ? {} : { type: "string" };
  return { required, content: { [rawBodyType(type)]: { schema } } };
}

/** Arrays and JSON are literals, and variadic parameters repeated. Reserved names are left out. */
function queryParameter(parameter: Parameter) {
  const { type, required, variadic } = parameter;
  const name = queryName(parameter.name);
  if (name === null) return [];
  const schema = typeSchema(type);
  const plain = schema["type"] === "array" || schema["type"] === undefined
    ? { type: "string", format: type }
    : schema;
  return variadic
    ? [{ name, in: "query", required, style: "form", explode: true, schema }]
    : [{ name, in: "query", required, schema: plain }];
}

function responsesOf(routine: Routine, { vendor, ...context }: V3RoutineContext) {
  const { returns } = routine;
  if (returns.void) {
    return { "204": { description: "Done; the function has no result" }, "default": errorResponse };
  }
  const shape = { set: returns.set, rows: returns.composite };
  const result = {
    description: "The result",
    headers: { ...(returns.set ? pageHeaders : {}), ...tagHeader },
    content: resultContent(resultSchema(routine, context), shape, vendor),
  };
  return { "200": result, ...(returns.set ? { "206": result } : {}), "default": errorResponse };
}

function resultSchema(
  { returns }: Routine,
  { schema, isDescribed }: Pick<V3RoutineContext, "schema" | "isDescribed">,
): Schema {
  const { relation, composite, typeSchema, typeName } = returns;
  if (relation?.schema === schema && isDescribed(relation.name)) {
    return rowReference(relation.name, "read");
  }
  return composite ? { type: "object" } : namedTypeSchema(typeSchema, typeName);
}

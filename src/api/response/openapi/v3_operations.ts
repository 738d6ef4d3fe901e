/** The operations of an OpenAPI 3.1 document: methods on relations that the relation supports and
 * the role may use, and calls of functions. @module */
import { queryName } from "../../request/url/filter_param.ts";
import { orderKey } from "../../plan/read/order_key.ts";
import type { Parameter, Routine } from "../../../state/schema_cache/schema_cache.ts";
import type { DescribedRelation, RelationMethod } from "./model.ts";
import { aboutTarget, argumentsSchema, componentKey, reference } from "./names.ts";
import { rawBodyType } from "./v2_paths.ts";
import { filterReferences, shared, type SharedParameter } from "./v3_parameters.ts";
import { namedTypeSchema, nullable, rowReference, type Schema, typeSchema } from "./v3_schemas.ts";

export interface OperationContext {
  readonly vendor: string;
  readonly schema: string;
  /** Whether a profile header can select a schema. */
  readonly profiled: boolean;
  /** Null without standbys. */
  readonly bookmarkHeader: string | null;
  /** Returns whether the document describes a relation. */
  readonly isDescribed: (relation: string) => boolean;
}

/** Parameters of an operation before and after its filters, and its success statuses. */
interface OperationForm {
  readonly verb: string;
  readonly first: readonly SharedParameter[];
  readonly filters: "columns" | "key" | "none";
  readonly more: readonly SharedParameter[];
  readonly statuses: readonly ("200" | "201" | "204" | "206" | "304")[];
}

const written = ["writeProfile", "idempotencyKey"] as const;
const clauses = ["distinct", "having", "after", "before"] as const;
const conflict = [
  "on_conflict",
  "on_conflict.index",
  "on_conflict.columns",
  "on_conflict.where",
] as const;

const forms: Readonly<Record<RelationMethod, OperationForm>> = {
  get: {
    verb: "read",
    first: ["select", "order", "limit"],
    filters: "columns",
    more: [
      ...["offset", "and", "or", ...clauses, "range", "rangeUnit", "preferRead"] as const,
      ...["readProfile", "ifNoneMatch", "bookmark", "ifMatch"] as const,
    ],
    statuses: ["200", "206", "304"],
  },
  post: {
    verb: "insert",
    first: ["selectWritten", "columnsInserted", ...conflict, "preferInsert", ...written],
    filters: "none",
    more: [],
    statuses: ["200", "201"],
  },
  put: {
    verb: "put",
    first: ["selectWritten"],
    filters: "key",
    more: ["columns", "preferInsert", ...written, "ifMatch", "ifNoneMatch"],
    statuses: ["200", "204"],
  },
  patch: {
    verb: "update",
    first: ["select", "order", "limit", "lock"],
    filters: "columns",
    more: ["columns", "on", "and", "or", "preferUpdate", ...written, "ifMatch"],
    statuses: ["200", "204"],
  },
  delete: {
    verb: "delete",
    first: ["select", "order", "limit", "lock"],
    filters: "columns",
    more: ["and", "or", "preferWrite", ...written, "ifMatch"],
    statuses: ["200", "204"],
  },
};

export function relationPath(described: DescribedRelation, context: OperationContext): unknown {
  const { methods, relation: { primaryKey } } = described;
  return Object.fromEntries(methods.map((method) => [method, operation(method)]));

  function operation(method: RelationMethod) {
    const { relation, columns } = described;
    const { verb, first, filters, more, statuses } = forms[method];
    const names = columns.map(({ column }) => column.name);
    const filtered = { columns: names, key: primaryKey, none: [] }[filters];
    const isOffered = offer(context, { names, hasKey: orderKey(relation) !== null });
    const responses = { ...successes(relation.name), "304": notModified };
    return {
      ...about(verb, relation),
      parameters: [
        ...first.filter(isOffered).map(shared),
        ...filterReferences(relation.name, filtered),
        ...more.filter(isOffered).map(shared),
      ],
      ...bodyOf(method, relation.name),
      responses: {
        ...Object.fromEntries(statuses.map((status) => [status, responses[status]])),
        "default": errorResponse,
      },
    };
  }
}

function about(verb: string, target: DescribedRelation["relation"] | Routine, tag = target.name) {
  return { operationId: `${verb}_${target.name}`, tags: [tag], ...aboutTarget(target) };
}

/** Parameters that a column or an argument of the same name replaces. */
const replaceable: ReadonlySet<string> = new Set([...clauses, "lock", "on"]);

/** Returns a function that tests whether operations have a parameter. Cursors require a key. */
function offer(
  { profiled, bookmarkHeader }: OperationContext,
  { names, hasKey }: { readonly names: readonly string[]; readonly hasKey: boolean },
): (name: SharedParameter) => boolean {
  const absent = new Set<string>([
    ...names.filter((name) => replaceable.has(name)),
    ...(profiled ? [] : ["readProfile", "writeProfile"]),
    ...(bookmarkHeader === null ? ["bookmark"] : []),
    ...(hasKey ? [] : ["after", "before"]),
  ]);
  return (name) => !absent.has(name);
}

const text = { schema: { type: "string" } } as const;

/** Returns the body of a write: one or several rows, or a patch document with the schema of its standard. */
function bodyOf(method: RelationMethod, relation: string) {
  if (method === "get" || method === "delete") return {};
  const row = { schema: rowReference(relation, method === "patch" ? "update" : "insert") };
  const rows = { schema: { oneOf: [row.schema, { type: "array", items: row.schema }] } };
  const form = { "application/x-www-form-urlencoded": row };
  const content = {
    post: { "application/json": rows, "application/x-ndjson": text, ...form, "text/csv": text },
    put: { "application/json": row, ...form },
    patch: {
      "application/json": rows,
      "application/json-patch+json": {},
      "application/merge-patch+json": {},
      "application/vnd.svc.patch+json": {},
      ...form,
    },
  }[method];
  return { requestBody: { required: true, content } };
}

function successes(relation: string) {
  const rows = reference("components", "responses", componentKey(relation));
  return {
    "200": rows,
    "201": rows,
    "206": rows,
    "204": { description: "Done; the response has no rows" },
  };
}

export const errorResponse = reference("components", "responses", "error.response");
/** Reference to the response for a client that has the body. */
export const notModified = reference("components", "responses", "unmodified.response");
/** Reference to the header that identifies the content of a response. */
export const tagHeader = headerReferences("ETag");
const pageHeaders = headerReferences("Content-Range", "Link");

function headerReferences(...names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, reference("components", "headers", name)]));
}

/** Returns an entry of the component responses: the key, and the response with rows of a relation. */
export function rowsResponse(
  { relation: { name } }: DescribedRelation,
  { vendor, bookmarkHeader }: Pick<OperationContext, "vendor" | "bookmarkHeader">,
) {
  const bookmark = bookmarkHeader === null ? {} : headerReferences(bookmarkHeader);
  return [componentKey(name), {
    description: "Rows; with `select`, only what it names",
    headers: { ...pageHeaders, ...tagHeader, ...bookmark },
    content: rowsContent(rowReference(name, "read"), vendor, true),
  }] as const;
}

function valueContent(schema: Schema, isSet: boolean) {
  return { "application/json": { schema: isSet ? { type: "array", items: schema } : schema } };
}

function rowsContent(schema: Schema, vendor: string, isSet: boolean) {
  const tree = `application/vnd.${vendor}`;
  return {
    ...valueContent(schema, isSet),
    [`${tree}.array+json;nulls=stripped`]: { schema: { type: "array", items: { type: "object" } } },
    [`${tree}.object+json`]: { schema },
    [`${tree}.object+json;nulls=stripped`]: { schema: { type: "object" } },
    "application/x-ndjson": text,
    "text/csv": text,
  };
}

/** Returns the path of a function: POST, and GET unless the function is volatile. */
export function routinePath(routine: Routine, context: OperationContext): unknown {
  const { name, parameters, returns, volatility } = routine;
  const [only] = parameters;
  const unnamed = parameters.length === 1 && only?.name === "" ? only : null;
  const isVolatile = volatility === "volatile";
  const isOffered = offer(context, {
    names: parameters.map((parameter) => parameter.name),
    hasKey: returns.relation !== null,
  });
  const sharedOf = (headers: readonly SharedParameter[]) =>
    [...resultParameters(routine), ...headers].filter(isOffered).map(shared);
  const responses = responsesOf(routine, context);
  const inQuery = unnamed === null ? parameters.flatMap(queryParameter) : [];
  const get = {
    ...about("query", routine, `(rpc) ${name}`),
    parameters: [...inQuery, ...sharedOf(["readProfile", "ifNoneMatch", "bookmark"])],
    responses: { ...responses, ...(returns.void ? {} : { "304": notModified }) },
  };
  const post = {
    ...about("call", routine, `(rpc) ${name}`),
    parameters: sharedOf(["writeProfile", isVolatile ? "idempotencyKey" : "bookmark"]),
    requestBody: unnamed === null ? argumentsBody(routine) : rawBody(unnamed),
    responses,
  };
  return isVolatile || unnamed?.required ? { post } : { get, post };
}

/** Returns the parameters for the result. Sets can be filtered and ordered like relations. */
function resultParameters({ returns }: Routine): readonly SharedParameter[] {
  if (!returns.set) return returns.composite ? ["select", "preferCall"] : ["preferCall"];
  const ofRows = returns.composite ? clauses : [];
  return ["select", "order", "limit", "offset", ...ofRows, "preferCall"];
}

function argumentsBody(routine: Routine) {
  const schema = argumentsSchema(routine, (type) => nullable(typeSchema(type)));
  return {
    required: routine.parameters.some(({ required }) => required),
    content: { "application/json": { schema } },
  };
}

function rawBody({ type, required }: Parameter) {
  const schema = rawBodyType(type) === "application/json" ? {} : { type: "string" };
  return { required, content: { [rawBodyType(type)]: { schema } } };
}

/** Returns a query parameter. Arrays and JSON are literals; variadic parameters can be repeated. */
function queryParameter(parameter: Parameter) {
  const { type, required, variadic } = parameter;
  const name = queryName(parameter.name);
  const schema = typeSchema(type);
  const plain = schema["type"] === "array" || schema["type"] === undefined
    ? { type: "string", format: type }
    : schema;
  return variadic
    ? [{ name, in: "query", required, style: "form", explode: true, schema }]
    : [{ name, in: "query", required, schema: plain }];
}

function responsesOf({ returns }: Routine, { vendor, schema, isDescribed }: OperationContext) {
  const { relation, composite, set, typeSchema, typeName } = returns;
  if (returns.void) {
    return { "204": { description: "Done; the function has no result" }, "default": errorResponse };
  }
  const isReferred = relation?.schema === schema && isDescribed(relation.name);
  const item = isReferred
    ? rowReference(relation.name, "read")
    : composite
    ? { type: "object" }
    : namedTypeSchema(typeSchema, typeName);
  const result = {
    description: "The result",
    headers: { ...(set ? pageHeaders : {}), ...tagHeader },
    content: composite ? rowsContent(item, vendor, set) : valueContent(item, set),
  };
  return { "200": result, ...(set ? { "206": result } : {}), "default": errorResponse };
}

/** Makes the operation of a request: its values become `*`, its limits become bounds. @module */
import type { ApiRequest } from "../../api/request/api_request.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { preferenceName } from "../../api/request/preferences.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { itemsOf } from "../../api/request/url/columns_param.ts";
import { operatorWords } from "../../api/request/url/operators.ts";
import { isFilter } from "../../api/request/url/query_params.ts";
import { type QueryParam, splitQuery } from "../../api/request/url/query_string.ts";
import type { ColumnItem } from "../../api/request/url/query_types.ts";
import { isJsonObject } from "../../base/lib/json_object.ts";
import type { Config } from "../../state/config/options.ts";
import { type BodyMember, type BodyPattern, patchSteps, rowsOf } from "./body_pattern.ts";
import { contentTypeText, type Form, type FormContext, formOf } from "./form.ts";
import type { OperationLine } from "./operation_file.ts";

/** An operation without a name and roles. */
export type UnnamedOperation = Pick<
  OperationLine,
  "body" | "headers" | "method" | "path" | "query"
>;

/** The operation of a request, and the form of the request. */
export interface MaskedRequest {
  readonly operation: UnnamedOperation;
  readonly form: Form;
  readonly request: ApiRequest;
}

/** Returns the operation of a request with a body; null for no body. Throws the errors of `parseHead`. */
export function masked(
  pieces: RawRequest,
  payload: Payload | null,
  { config, ...context }: FormContext & { readonly config: Config },
): MaskedRequest {
  const { request } = parseHead(pieces, config);
  const form = formOf(request, context);
  const plain = formOf(
    parseHead({ ...pieces, headers: withoutAccept(pieces) }, config).request,
    context,
  );
  const method = request.action.kind === "call" && request.action.method === "QUERY"
    ? "QUERY"
    : pieces.method === "HEAD"
    ? "GET"
    : pieces.method;
  const operation = {
    method,
    path: pathOf(request),
    query: maskedQuery(splitQuery(pieces.query.toWellFormed()), form),
    headers: {
      ...form.key === plain.key ? {} : { accept: pieces.headers["accept"] ?? "" },
      ...schemaHeader(request, config),
      ...payload === null ? {} : typeHeader(pieces),
      ...preferHeader(request),
    },
    body: payload === null ? null : patternOf(payload, itemsOf(request.query.columnTree)),
  };
  return { operation, form, request };
}

function withoutAccept({ headers: { accept: _, ...headers } }: RawRequest): RawRequest["headers"] {
  return headers;
}

function pathOf({ action }: ApiRequest): string {
  if ("relation" in action) return `/${encodeURIComponent(action.relation)}`;
  return action.kind === "call" ? `/rpc/${encodeURIComponent(action.routine)}` : "/";
}

type OperationHeaders = OperationLine["headers"];

function schemaHeader({ action, schema }: ApiRequest, { dbSchemas }: Config): OperationHeaders {
  if (schema === dbSchemas[0]) return {};
  const reads = action.kind === "read" || action.kind === "call" && action.method !== "POST";
  return { [reads ? "accept-profile" : "content-profile"]: schema };
}

function typeHeader({ headers }: RawRequest): OperationHeaders {
  const type = contentTypeText(headers["content-type"]);
  return type === "application/json" ? {} : { "content-type": type };
}

function preferHeader(
  { preferences: { invalid: _, ...preferences } }: ApiRequest,
): OperationHeaders {
  const tokens = Object.entries(preferences).flatMap(([name, value]) =>
    value === null ? [] : [`${preferenceName(name)}=${name === "timezone" ? "*" : value}`]
  );
  return tokens.length === 0 ? {} : { prefer: tokens.join(", ") };
}

function maskedQuery(params: readonly QueryParam[], { levels }: Form): string {
  const root = levels.get("")!;
  const kept = params.filter(({ name }) => name !== "limit" && name !== "offset").flatMap(
    ({ name, value }) =>
      value === null ? [] : [`${encoded(name)}=${encoded(maskedValue(name, value))}`],
  );
  const limits = [
    ...root.limit === null ? [] : [`limit=..${root.limit}`],
    ...root.offset === 0n ? [] : [`offset=..${root.offset}`],
  ];
  return [...kept, ...limits].join("&");
}

/** Encodes what a line of the file, or a query string, cannot hold. */
export function encoded(text: string): string {
  return text.replaceAll(/[^!$'()*,\-./0-9:<=>?@A-Z[\]^_`a-z{|}~"\\]/gu, encodeURIComponent);
}

const literalNames: ReadonlySet<string> = new Set([
  ...["select", "columns", "on_conflict", "order", "distinct", "on", "lock", "resolution"],
  ...["index"],
]);
const conditionNames: ReadonlySet<string> = new Set([
  "and",
  "or",
  "having",
  "any",
  "all",
  "none",
  "where",
]);

function maskedValue(name: string, value: string): string {
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (isFilter(value)) return maskedConditions(`.${value}`, "$").slice(1);
  if (literalNames.has(last) || name === "on_conflict.columns") return value;
  if (last === "limit" || last === "offset") return `..${value.trim()}`;
  return conditionNames.has(last) ? maskedConditions(value, "[,)]|$") : anyValue;
}

const anyValue = "*";

/** Replaces operands: a list, a text in quotes, an array, or the text up to the end. */
export function maskedConditions(text: string, end: string): string {
  const words = operatorWords.filter((word) => word !== "is" && word !== "in").join("|");
  const operand = end === "$" ? "[^]*" : `"(?:[^"\\\\]|\\\\.)*"(?=${end})|\\{[^{}]*\\}|[^,)]*`;
  const value = new RegExp(
    `(\\.(?:${words})(?:\\((?!col\\)|excluded\\))\\w+\\))?\\.)(?:${operand})`,
    "g",
  );
  const list = /(\.in\.)\s*\((?:"(?:[^"\\]|\\.)*"|[^()"])*\)/g;
  return text.replaceAll(list, `$1(${anyValue})`).replaceAll(value, `$1${anyValue}`);
}

/** Returns the members of a body. Items of `columns` decide which values have members of their own. */
function patternOf(payload: Payload, items: readonly ColumnItem[]): BodyPattern | null {
  switch (payload.kind) {
    case "raw":
      return { kind: "value" };
    case "patch":
      return { kind: "patch", steps: patchSteps(payload) };
    case "form":
      return membersPattern(membersOf([Object.fromEntries(payload.fields)], []), false);
    case "json": {
      if (payload.value !== undefined) return { kind: "value" };
      const keys = payload.keys?.map((key) => [key, null] as const);
      const isPlain = keys !== undefined && items.length === 0 && payload.keysVary !== true;
      return membersPattern(
        membersOf(isPlain ? [Object.fromEntries(keys)] : rowsOf(payload, "rounded"), items),
        payload.shape === "array",
      );
    }
    default:
      return payload satisfies never;
  }
}

function membersPattern(members: readonly BodyMember[], isList: boolean): BodyPattern | null {
  return members.length === 0 && !isList ? null : { kind: "members", isList, members };
}

function membersOf(rows: readonly unknown[], items: readonly ColumnItem[]): readonly BodyMember[] {
  const objects = rows.filter(isJsonObject);
  const names = new Set(objects.flatMap((row) => Object.keys(row)));
  return Array.from(names, (name) => {
    const present = objects.filter((row) => Object.hasOwn(row, name)).map((row) => row[name]);
    const item = items.find((each) =>
      each.kind === "nested" && (each.alias ?? each.target) === name
    );
    const isNested = item?.kind === "nested" &&
      present.every((value) => typeof value === "object" && value !== null);
    const inner = isNested
      ? { isList: Array.isArray(present[0]), members: membersOf(present.flat(), item.items) }
      : null;
    return { name, isOptional: present.length < objects.length, literal: null, inner };
  });
}

/** Derives the operation of a request: values become `*`, limits become bounds. @module */
import { ServiceError } from "../../base/errors/service_error.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { itemsOf } from "../../api/request/url/columns_param.ts";
import { operandPlaces, withOperands } from "../../api/request/url/operand_places.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { patternOf } from "./body_pattern.ts";
import { type Form, formOf } from "./form.ts";
import { headerNames, type OperationLine } from "./operation_file.ts";
import { rowsPart } from "./operation_index.ts";

/** Returns the operation of a request, without a name, and its form. Throws the errors of `parseHead`. */
export function sentOperation(
  raw: RawRequest,
  { role, payload }: { readonly role: string; readonly payload: Payload | null },
  snapshot: Snapshot,
): { readonly line: OperationLine; readonly form: Form } {
  const { method, path, query } = raw;
  const { request } = parseHead(raw, snapshot.config);
  const form = formOf(request, snapshot);
  const line = {
    name: "unnamed",
    roles: [role],
    method: method === "HEAD" ? "GET" : method,
    path,
    query: withRows(maskedQuery(query), form.rows),
    headers: headersOf(raw, form, snapshot),
    body: payload === null ? null : patternOf(payload, itemsOf(request.query.columnTree)),
    line: 0,
  };
  return { line, form };
}

/** Returns the headers that influence the form, if any. */
function headersOf(
  raw: RawRequest,
  { key }: Form,
  snapshot: Snapshot,
): OperationLine["headers"] {
  const isNeeded = (name: string) => {
    const { [name]: _, ...headers } = raw.headers;
    try {
      const { request } = parseHead({ ...raw, headers }, snapshot.config);
      return formOf(request, snapshot).key !== key;
    } catch (error) {
      if (error instanceof ServiceError) return true;
      throw error;
    }
  };
  return Object.fromEntries(
    Object.entries(raw.headers).filter(([name]) => headerNames.has(name) && isNeeded(name)),
  );
}

/** Returns a query string in which `*` replaces values. Limits and offsets are left out. */
function maskedQuery(query: string): string {
  const params = splitQuery(query.toWellFormed()).flatMap(({ name, value }) =>
    value === null || rowsPart(name) !== null && operandPlaces(value) === null
      ? []
      : [`${encoded(name)}=${encoded(maskedValue(name, value))}`]
  );
  return params.join("&");
}

/** Returns a query string whose limits and offsets are replaced by `rows`. */
export function withRows(query: string, rows: Form["rows"]): string {
  const params = query.split("&").filter((param) =>
    !/^(?:[^=]*\.)?(?:limit|offset)=\.\./.test(param)
  );
  const bounds = Array.from(
    rows,
    ([name, count]) =>
      count === 0n && rowsPart(name) === "offset" ? "" : `${encoded(name)}=..${count}`,
  );
  return [...params, ...bounds].filter((param) => param !== "").join("&");
}

/** Escapes characters that are not possible in a line of the file, or in a query string. */
export function encoded(text: string): string {
  return text.replaceAll(/[^!$'()*,\-./0-9:<=>?@A-Z[\]^_`a-z{|}~"\\]/gu, encodeURIComponent);
}

/** Parameters whose values are compared literally, by the last segment of the name. */
const literalNames: ReadonlySet<string> = new Set([
  ...["select", "columns", "on_conflict", "order", "distinct", "on", "lock", "resolution", "index"],
]);

/** Parameters whose values are groups of conditions, by the last segment of the name. */
const groupNames: ReadonlySet<string> = new Set([
  ...["and", "or", "having", "any", "all", "none", "where"],
]);

function maskedValue(name: string, value: string): string {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const places = operandPlaces(value);
  const isGroup = value.trimStart().startsWith("(");
  if (places !== null && (!isGroup || groupNames.has(last))) {
    return withOperands(value, places, () => anyValue);
  }
  return literalNames.has(last) || name === "on_conflict.columns" ? value : anyValue;
}

const anyValue = "*";

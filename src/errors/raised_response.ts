/**
 * Errors that database code raises with a full-control SQLSTATE. Message and detail are JSON and
 * define the whole response.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import { isJsonObject, parseJsonObject } from "../lib/json_object.ts";
import { errors } from "./catalogue.ts";
import { headerValue, isHeaderName, reasonPhrase, sendableStatus } from "./http_text.ts";
import { type DatabaseFailure, ServiceError } from "./service_error.ts";

/** The body, from the error's message. */
interface RaisedBody {
  readonly code: string;
  readonly message: string;
  readonly details: string | null;
  readonly hint: string | null;
}

/** Status and headers, from the error's detail. */
interface RaisedHead {
  readonly status: number;
  readonly statusText: string | null;
  readonly headers: HeaderList;
}

const messageHint = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and " +
  "optional keys: 'details', 'hint'.";
const detailHint = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and " +
  "optional key: 'status_text'.";

/**
 * Returns the error that a full-control failure defines. If its JSON is invalid, returns error 121: a
 * member is missing or has the wrong type, or a header is invalid. `state` is the SQLSTATE in the
 * message of 121.
 *
 * ```sql
 * raise sqlstate 'SVC00' using
 *   message = '{"code":"Q1","message":"Quota","details":"5 of 5","hint":"wait"}',
 *   detail  = '{"status":419,"status_text":"Page Expired","headers":{"X-Left":"0"}}';
 * ```
 */
export function raisedResponse(failure: DatabaseFailure, state: string): ServiceError {
  const { message, detail } = failure;
  const body = raisedBody(message);
  if (body === null) {
    return errors.invalidRaise(state, `Invalid JSON value for MESSAGE: '${message}'`, messageHint);
  }
  if (detail === null) {
    return errors.invalidRaise(state, "DETAIL is missing in the RAISE statement", detailHint);
  }
  const head = raisedHead(detail);
  if (head === null) {
    return errors.invalidRaise(state, `Invalid JSON value for DETAIL: '${detail}'`, detailHint);
  }
  const status = sendableStatus(head.status);
  const statusText = status === head.status ? head.statusText : null;
  return new ServiceError({
    ...body,
    own: false,
    status,
    headers: head.headers,
    ...(statusText === null ? {} : { statusText: reasonPhrase(statusText) }),
  });
}

function raisedBody(text: string): RaisedBody | null {
  const object = parseJsonObject(text);
  if (object === null) return null;
  const { code, message, details = null, hint = null } = object;
  return typeof code === "string" && typeof message === "string" && isTextOrNull(details) &&
      isTextOrNull(hint)
    ? { code, message, details, hint }
    : null;
}

function raisedHead(text: string): RaisedHead | null {
  const object = parseJsonObject(text);
  if (object === null) return null;
  const { status, status_text: statusText = null } = object;
  const headers = raisedHeaders(object.headers);
  return isInteger(status) && isTextOrNull(statusText) && headers !== null
    ? { status, statusText, headers }
    : null;
}

function raisedHeaders(value: unknown): HeaderList | null {
  if (!isJsonObject(value)) return null;
  const headers: [string, string][] = [];
  for (const [name, text] of Object.entries(value)) {
    const safe = typeof text === "string" && isHeaderName(name) ? headerValue(text) : null;
    if (safe === null) return null;
    headers.push([name, safe]);
  }
  return headers;
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

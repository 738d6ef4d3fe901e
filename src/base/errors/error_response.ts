/** Turns errors into HTTP responses. @module */
import type { Dialect } from "../dialect.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { errors } from "./catalogue.ts";
import { framingHeaders, hasBody, sendableStatus } from "./http_text.ts";
import { DatabaseError, type ErrorFields, ServiceError } from "./service_error.ts";
import { databaseFailureToError, type FailureContext } from "./sqlstate.ts";

/** The members of error bodies. `verbose` and `advise`: all. `minimal`: `code`, `message`, `operation`. */
export type ErrorVerbosity = "verbose" | "minimal" | "advise";

export interface ErrorResponseOptions {
  readonly dialect: Pick<
    Dialect,
    "errorPrefix" | "displayName" | "parseErrors" | "retryAfter" | "serverDetails"
  >;
  readonly verbosity: ErrorVerbosity;
  /** Whole seconds until the next connection attempt; null if none is scheduled. */
  readonly retryAfter: number | null;
}

/** A response as data. `body` is null for a status without a body. HEAD omits the body. */
export interface ErrorResponse {
  readonly status: number;
  /** Reason phrase. Default: the standard one. */
  readonly statusText?: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

const utf8 = new TextEncoder();

/** Returns the error of a response. A value that neither svc nor PostgreSQL has thrown becomes `X00`. */
export function toServiceError(thrown: unknown, context: FailureContext): ServiceError {
  const { variants } = context.dialect;
  if (thrown instanceof ServiceError) return numbered(thrown, variants);
  if (thrown instanceof DatabaseError) {
    return numbered(databaseFailureToError(thrown.failure, context), variants);
  }
  return errors.internal("Internal server error");
}

/** Returns the error with the code and status of a dialect. */
function numbered(error: ServiceError, variants: Dialect["variants"]): ServiceError {
  const { variant } = error.fields;
  const fields = variant === undefined ? undefined : variants[variant];
  return fields === undefined ? error : new ServiceError({ ...error.fields, ...fields });
}

/**
 * Returns the response of an error: compact JSON in the key order code, details, hint, message;
 * `Content-Type`, `Content-Length`, `Proxy-Status` (RFC 9209), `Retry-After` on 503, the headers of
 * the error, and `Connection: close` if the request is not read to its end. Headers of the error
 * override other headers, except headers that frame the message.
 */
export function errorResponse(error: ServiceError, options: ErrorResponseOptions): ErrorResponse {
  const fields = shownFields(error, options);
  const status = sendableStatus(fields.status);
  const code = fields.own ? options.dialect.errorPrefix + fields.code : fields.code;
  const body = hasBody(status) ? utf8.encode(errorBody(code, fields, options.verbosity)) : null;
  const ownHeaders: HeaderList = [
    ...(body === null ? [] : [contentType]),
    ["Proxy-Status", `${options.dialect.displayName}; error=${proxyStatusValue(code)}`],
    ...(status === 503 ? [["Retry-After", retryAfter(options)] as const] : []),
  ];
  const length: HeaderList = body === null ? [] : [["Content-Length", String(body.byteLength)]];
  return {
    status,
    ...(fields.statusText === undefined ? {} : { statusText: fields.statusText }),
    headers: [
      ...length,
      ...replaceHeaders(ownHeaders, fields.headers ?? []),
      ...(fields.closesConnection === true ? [["Connection", "close"] as const] : []),
    ],
    body,
  };
}

/** Returns the fields that clients may see. Messages of PostgreSQL can name hosts, ports and roles
 * of other servers, which only the log shows. */
function shownFields(error: ServiceError, { dialect }: ErrorResponseOptions): ErrorFields {
  const fields = worded(error, dialect);
  const { describesServer } = fields;
  const isHidden = describesServer === "node" ||
    describesServer === true && dialect.serverDetails === "logged";
  if (!isHidden) return fields;
  const hidden = { ...fields, details: null };
  return fields.own ? hidden : { ...hidden, message: "connection exception", hint: null };
}

/** Returns the error of a parser with the message in the form of the dialect. */
function worded(
  { fields }: ServiceError,
  { parseErrors }: Pick<Dialect, "parseErrors">,
): ErrorFields {
  const { inWords, message, details, place } = fields;
  if (parseErrors !== "in words") return fields;
  if (place !== undefined) return { ...fields, details: place };
  if (inWords === undefined) return fields;
  return { ...fields, message: inWords, details: `${message}: ${details}` };
}

function retryAfter({ dialect, retryAfter }: ErrorResponseOptions): string {
  return dialect.retryAfter === "zero" ? "0" : String(retryAfter ?? 0);
}

const contentType = ["Content-Type", "application/json; charset=utf-8"] as const;

/** Returns the text of the body. The log always uses the verbose form. */
export function errorBody(code: string, fields: ErrorFields, verbosity: ErrorVerbosity): string {
  const { details = null, hint = null, message, operation } = fields;
  const texts = verbosity === "minimal" ? { code, message } : { code, details, hint, message };
  return JSON.stringify(operation === undefined ? texts : { ...texts, operation });
}

/** Overrides headers of the same name, case-insensitively, and appends new ones. */
function replaceHeaders(base: HeaderList, replacements: HeaderList): HeaderList {
  const allowed = replacements.filter(([name]) => !framingHeaders.has(name.toLowerCase()));
  const replaced = new Set(allowed.map(([name]) => name.toLowerCase()));
  return [...base.filter(([name]) => !replaced.has(name.toLowerCase())), ...allowed];
}

/** Returns a code as a token (RFC 9110, section 5.6.2) if possible, else as a quoted string. */
function proxyStatusValue(code: string): string {
  if (/^[!#$%&'*+\-.^_`|~:/0-9A-Za-z]+$/.test(code)) return code;
  const printable = code.slice(0, 256).replace(/[^\x20-\x7e]/g, "?");
  return `"${printable.replace(/["\\]/g, "\\$&")}"`;
}

/** Returns the texts and the prefixed code of an error, for the log. */
export function errorMembers(thrown: unknown, dialect: FailureContext["dialect"]) {
  const fields = worded(toServiceError(thrown, { authenticated: false, dialect }), dialect);
  return {
    code: fields.own ? dialect.errorPrefix + fields.code : fields.code,
    message: fields.message,
    details: fields.details ?? null,
    hint: fields.hint ?? null,
  };
}

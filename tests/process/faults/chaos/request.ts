/** A request of the chaos run, and what its answer must be. @module */
import { isDeepStrictEqual } from "node:util";
import { type Answer, requestBytes } from "../../../support/clients/http_connection.ts";
import type { Random } from "../../../support/timing/random.ts";
import { errorCode } from "../tally.ts";
import type { Effects, PendingEffect } from "./effects.ts";
import { clerkTimeout } from "./schema.ts";
import type { User } from "./users.ts";
import type { VersionedObject, VersionSpan } from "./versions.ts";

/** A row that a client has written and not deleted. */
export interface WrittenRow {
  readonly mark: number;
  readonly user: User;
}

/** What a request is made of. */
export interface RequestContext {
  readonly user: User;
  readonly random: Random;
  readonly effects: Effects;
  /** Identifies the request: the header `X-Mark` is `m<mark>`. */
  readonly mark: number;
  /** Rows of the client that sends the request. */
  readonly rows: WrittenRow[];
}

/** Returns the versions that an object had while the request was under way. */
export type SpanOf = (name: VersionedObject) => VersionSpan;

/** Returns what is wrong with a body of JSON; null where it is right. */
export type BodyCheck = (body: unknown, spanOf: SpanOf) => string | null;

/** What an answer must be. */
export interface Expected {
  readonly status: number;
  /** Code of the error; empty where the answer is none. Default: empty. */
  readonly code?: string;
  /** Default: any. */
  readonly body?: BodyCheck;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `entries`: the trigger of this table sets a header. Default: null. */
  readonly inserts?: "entries";
  /** The answer may have the header that the request's own function leaves behind. Default: false. */
  readonly mayShowLeft?: boolean;
  /** A second answer that is right, too. Default: none. */
  readonly or?: { readonly status: number; readonly code: string };
  /** The transaction is rolled back although it succeeds. Default: false. */
  readonly isRolledBack?: boolean;
}

/** A request, and what its answer must be. */
export interface ChaosRequest {
  readonly name: string;
  readonly method: string;
  readonly bytes: Uint8Array;
  readonly context: RequestContext;
  readonly expected: Expected;
  /** Changes that it makes where it succeeds. Default: none. */
  readonly changes?: readonly PendingEffect[];
}

/** Text of the header `X-Mark`. */
export function stampOf({ mark }: RequestContext): string {
  return `m${mark}`;
}

/** Encodes a request of a user. */
export function encode(
  context: RequestContext,
  line: string,
  { headers = {}, body }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  } = {},
): Pick<ChaosRequest, "method" | "bytes" | "context"> {
  const { token } = context.user;
  const bytes = requestBytes(line, {
    headers: {
      "X-Mark": stampOf(context),
      Cookie: `c=${stampOf(context)}`,
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body,
  });
  return { method: line.slice(0, line.indexOf(" ")), bytes, context };
}

/** Checks that a body is a value. */
export function equals(value: unknown): BodyCheck {
  return (body) => isDeepStrictEqual(body, value) ? null : `expected ${JSON.stringify(value)}`;
}

/** Checks that a body is the value of one of the versions of an object. */
export function equalsVersion(
  name: VersionedObject,
  valueOf: (version: number) => unknown,
): BodyCheck {
  return (body, spanOf) => {
    const { first, last } = spanOf(name);
    for (let version = first; version <= last; version++) {
      if (isDeepStrictEqual(body, valueOf(version))) return null;
    }
    return `expected ${JSON.stringify(valueOf(last))}, version ${first} to ${last}`;
  };
}

/** What `api.seen()` returns to a request. */
export function seenBy(
  context: RequestContext,
  { method, path, access, zone = "UTC" }: {
    readonly method: string;
    readonly path: string;
    readonly access: "read only" | "read write";
    readonly zone?: "UTC" | "Asia/Tokyo";
  },
): Readonly<Record<string, unknown>> {
  const { role, sub } = context.user;
  return {
    role,
    sub,
    login: "authenticator",
    mark: stampOf(context),
    claimed: role,
    method,
    path,
    cookie: stampOf(context),
    search_path: '"api", "public", pg_temp',
    isolation: role === "auditor" ? "repeatable read" : "read committed",
    read_only: access === "read only" ? "on" : "off",
    timeout: role === "clerk" ? clerkTimeout : "0",
    zone,
    noon: zone === "UTC" ? "2020-01-01T12:00:00+00:00" : "2020-01-01T21:00:00+09:00",
  };
}

/** What the code of `insufficient privilege` is answered with. */
export function forbidden({ user }: RequestContext): Expected {
  return { status: user.token === null ? 401 : 403, code: "42501" };
}

/** Returns what is wrong with an answer; null where it is right. */
export function checkAnswer(request: ChaosRequest, answer: Answer, spanOf: SpanOf): string | null {
  const wrong = wrongPart(request, answer, spanOf);
  if (wrong === null) return null;
  const { role, sub } = request.context.user;
  const body = answer.body.slice(0, 500);
  return `${request.name} of ${role} ${sub}: ${wrong}, got ${answer.status} ${body}`;
}

function wrongPart(
  { context, expected }: ChaosRequest,
  answer: Answer,
  spanOf: SpanOf,
): string | null {
  const { status, code = "", headers = {}, or } = expected;
  const answered = [answer.status, errorCode(answer)];
  const header = wrongHeader(context, expected, answer, spanOf);
  if (header !== null) return header;
  if (or !== undefined && isDeepStrictEqual(answered, [or.status, or.code])) return null;
  if (!isDeepStrictEqual(answered, [status, code])) return `expected ${status} ${code}`;
  for (const [name, value] of Object.entries(headers)) {
    if (answer.headers.get(name) !== value) return `${name} is ${answer.headers.get(name)}`;
  }
  if (expected.body === undefined) return null;
  const body = answer.body === "" ? null : JSON.parse(answer.body);
  return expected.body(body, spanOf);
}

/** Looks for headers that the functions of other requests have set. */
function wrongHeader(
  context: RequestContext,
  { inserts, mayShowLeft = false }: Expected,
  answer: Answer,
  spanOf: SpanOf,
): string | null {
  const stamp = stampOf(context);
  const left = answer.headers.get("x-left");
  if (left !== undefined && !(mayShowLeft && left === stamp)) return `X-Left is ${left}`;
  const told = answer.headers.get("x-told");
  if (told !== undefined && (inserts !== "entries" || told !== stamp)) return `X-Told is ${told}`;
  if (inserts !== "entries" || answer.status >= 300 || left !== undefined) return null;
  // The trigger exists in odd versions.
  const { first, last } = spanOf("trigger");
  const isCertain = first === last;
  if (isCertain && (first % 2 === 1) !== (told !== undefined)) return `X-Told is ${told}`;
  return null;
}

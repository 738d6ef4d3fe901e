/**
 * All errors of the service, one row each: code, status and wording. Codes have no dialect prefix.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import { quotable, quotableList } from "./quoting.ts";
import { type ErrorFields, type ErrorTexts, ServiceError } from "./service_error.ts";

/** One row: creates the error, and holds its code, status and text for the reference. */
type ErrorDefinition<Args extends readonly unknown[]> = ((...args: Args) => ServiceError) & {
  readonly code: string;
  readonly status: number;
  /** Markdown, completing "… when". */
  readonly when: string;
};

function defineError<Args extends readonly unknown[]>(
  code: string,
  status: number,
  when: string,
  texts: (
    ...args: Args
  ) =>
    & ErrorTexts
    & Pick<ErrorFields, "advice" | "closesConnection" | "describesServer" | "headers" | "variant">,
): ErrorDefinition<Args> {
  const make = (...args: Args) => new ServiceError({ code, own: true, status, ...texts(...args) });
  return Object.assign(make, { code, status, when });
}

/** `WWW-Authenticate` of a response to a request that needs a token. */
export const bearerChallenge: HeaderList = [["WWW-Authenticate", "Bearer"]];

function invalidToken(message: string, details: string | null = null) {
  const description = message.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return {
    message,
    details,
    headers: [
      ["WWW-Authenticate", `Bearer error="invalid_token", error_description="${description}"`],
    ] as const,
  };
}

/** A relation or a function by schema and name. */
interface Qualified {
  readonly schema: string;
  readonly name: string;
}

const qualified = ({ schema, name }: Qualified) => quotable(`${schema}.${name}`);

/** One possible relationship of an ambiguous embed. */
export interface EmbeddingCandidate {
  readonly cardinality: string;
  readonly embedding: string;
  readonly relationship: string;
  /** Text of the hint: `places!orders_from_fkey`. */
  readonly suggestion: string;
}

/** Where a body stops being JSON. Positions count from 1: characters in short bodies, else bytes. */
export type MalformedPlace =
  | { readonly kind: "character" | "byte"; readonly position: number }
  | { readonly kind: "end" | "empty" };

function malformedAdvice(place: MalformedPlace): string {
  switch (place.kind) {
    case "empty":
      return "The body is empty";
    case "end":
      return "The body ends before its JSON does";
    default:
      return `The JSON is wrong at ${place.kind} ${place.position}`;
  }
}

/** The catalogue. Each row creates a {@linkcode ServiceError}. */
export const errors = {
  // Group 0: connection
  cannotConnect: defineError(
    "000",
    503,
    "the service cannot connect to the database",
    (details: string | null) => ({
      message: "Database connection error.",
      details,
      describesServer: true,
    }),
  ),
  connectionLost: defineError(
    "001",
    503,
    "the connection was lost during the request",
    (details: string | null) => ({
      message: "Database client error. Retrying the connection.",
      details,
      describesServer: true,
    }),
  ),
  noSchemaCache: defineError("002", 503, "the schema cache is not loaded yet", () => ({
    message: "Could not query the database for the schema cache. Retrying.",
  })),
  acquisitionTimeout: defineError(
    "003",
    504,
    "no pool connection became free within `db-pool-acquisition-timeout`",
    () => ({
      message: "Timed out acquiring connection from connection pool.",
    }),
  ),

  // Group 1: request
  parse: defineError(
    "100",
    400,
    "a query parameter cannot be parsed",
    (problem: {
      /** `filter`, `tree path`, `select parameter`, … */
      readonly what: string;
      readonly raw: string;
      /** One-based. */
      readonly column: number;
      readonly details: string;
    }) => ({
      message: `"failed to parse ${problem.what} (${
        quotable(problem.raw)
      })" (line 1, column ${problem.column})`,
      details: problem.details,
    }),
  ),
  methodOnFunction: defineError(
    "101",
    405,
    "the method of a function call is not GET, HEAD or POST",
    (method: string) => ({
      message: `Cannot use the ${quotable(method)} method on RPC`,
    }),
  ),
  invalidBody: defineError(
    "102",
    400,
    "the body is empty, malformed or not uniform",
    (message: string, details: string | null = null) => ({ message, details }),
  ),
  malformedJson: defineError(
    "102",
    400,
    "the body is not JSON although its media type is",
    (place: MalformedPlace) => ({
      message: "Empty or invalid json",
      advice: malformedAdvice(place),
    }),
  ),
  invalidRange: defineError(
    "103",
    416,
    "the requested range is invalid, or begins after the last row",
    (details: string) => ({
      message: "Requested range not satisfiable",
      details,
    }),
  ),
  invalidPut: defineError(
    "105",
    405,
    "the filters of a PUT are not exactly the primary key by `eq`",
    () => ({
      message: "Filters must include all and only primary key columns with 'eq' operators",
    }),
  ),
  unacceptableSchema: defineError(
    "106",
    406,
    "the profile header names a schema that is not exposed",
    (schema: string, exposed: readonly string[]) => ({
      message: `Invalid schema: ${quotable(schema)}`,
      hint: `Only the following schemas are exposed: ${exposed.join(", ")}`,
    }),
  ),
  unsupportedContentType: defineError(
    "107",
    415,
    "the media type of the body is not supported",
    (contentType: string) => ({
      message: `Content-Type not acceptable: ${quotable(contentType)}`,
      variant: "content type",
    }),
  ),
  notAcceptable: defineError(
    "107",
    406,
    "the service can produce none of the accepted media types",
    (mediaTypes: readonly string[]) => ({
      message: `None of these media types are available: ${quotableList(mediaTypes)}`,
    }),
  ),
  notEmbedded: defineError(
    "108",
    400,
    "a filter, order or limit addresses a relation that is not in `select`",
    (name: string) => ({
      message: `'${quotable(name)}' is not an embedded resource in this request`,
      hint: `Verify that '${quotable(name)}' is included in the 'select' query parameter.`,
    }),
  ),
  embeddedUnderAlias: defineError(
    "108",
    400,
    "a filter, order or limit addresses an aliased embed by its relation",
    (name: string, alias: string) => ({
      message: `'${quotable(name)}' is not an embedded resource in this request`,
      details: "Target names are not allowed in filters if they have an alias",
      hint: `Change '${quotable(name)}' to '${quotable(alias)}' in filters, orders or limits.`,
    }),
  ),
  limitWithoutOrder: defineError(
    "109",
    400,
    "a PATCH or DELETE has `limit` without `order`",
    () => ({
      message: "A 'limit' was applied without an explicit 'order'",
      hint: "Apply an 'order' using unique column(s)",
    }),
  ),
  limitSurpassed: defineError(
    "110",
    400,
    "a limited PATCH or DELETE would change more rows than the limit",
    (changed: number, allowed: bigint) => ({
      message: "The maximum number of rows allowed to change was surpassed",
      details:
        `Results contain ${changed} rows changed but the maximum number allowed is ${allowed}`,
    }),
  ),
  invalidResponseHeaders: defineError(
    "111",
    500,
    "`response.headers`, set in the database, is invalid",
    () => ({
      message: "response.headers guc must be a JSON array composed of objects with a single key " +
        "and a string value",
    }),
  ),
  invalidResponseStatus: defineError(
    "112",
    500,
    "`response.status`, set in the database, is invalid",
    () => ({
      message: "response.status guc must be a valid status code",
    }),
  ),
  putWithLimits: defineError("114", 400, "a PUT has `limit` or `offset`", () => ({
    message: "limit/offset querystring parameters are not allowed for PUT",
  })),
  putMismatch: defineError(
    "115",
    400,
    "the primary key in the body of a PUT differs from the URL",
    () => ({
      message: "Payload values do not match URL in primary key column(s)",
    }),
  ),
  notSingular: defineError(
    "116",
    406,
    "the client requests one object and the result does not have exactly one row",
    (rows: number) => ({
      message: "Cannot coerce the result to a single JSON object",
      details: `The result contains ${rows} rows`,
    }),
  ),
  unsupportedMethod: defineError("117", 405, "the method is not supported", (method: string) => ({
    message: `Unsupported HTTP method: ${quotable(method)}`,
  })),
  relatedOrderToMany: defineError(
    "118",
    400,
    "`order` names an embed that is not to-one",
    (origin: string, embed: string) => ({
      message: `A related order on '${quotable(embed)}' is not possible`,
      details: `'${origin}' and '${
        quotable(embed)
      }' do not form a many-to-one or one-to-one relationship`,
    }),
  ),
  spreadToMany: defineError(
    "119",
    400,
    "a spread embed is not to-one",
    (origin: string, embed: string) => ({
      message: `A spread operation on '${quotable(embed)}' is not possible`,
      details: `'${origin}' and '${
        quotable(embed)
      }' do not form a many-to-one or one-to-one relationship`,
    }),
  ),
  embedOperator: defineError(
    "120",
    400,
    "a filter on an embed is neither `is.null` nor `not.is.null`",
    (embed: string) => ({
      message: `Bad operator on the '${quotable(embed)}' embedded resource`,
      details: "Only is null or not is null filters are allowed on embedded resources",
    }),
  ),
  invalidRaise: defineError(
    "121",
    400,
    "the JSON of a full-control RAISE is invalid",
    (state: string, details: string, hint: string) => ({
      message: `Could not parse JSON in the "RAISE SQLSTATE '${state}'" error`,
      details,
      hint,
      variant: "raise",
    }),
  ),
  invalidPreferences: defineError(
    "122",
    400,
    "a request with `Prefer: handling=strict` has unknown preferences",
    (preferences: readonly string[]) => ({
      message: "Invalid preferences given with handling=strict",
      details: `Invalid preferences: ${quotableList(preferences)}`,
    }),
  ),
  aggregatesDisabled: defineError(
    "123",
    400,
    "`select` has an aggregate and `db-aggregates-enabled` is false",
    () => ({
      message: "Use of aggregate functions is not allowed",
    }),
  ),
  maxAffectedExceeded: defineError(
    "124",
    400,
    "the request affects more rows than `Prefer: max-affected` allows",
    (rows: number) => ({
      message: "Query result exceeds max-affected preference constraint",
      details: `The query affects ${rows} rows`,
    }),
  ),
  invalidPath: defineError(
    "125",
    404,
    "the path is not `/`, `/<relation>` or `/rpc/<function>`",
    () => ({ message: "Invalid path specified in request URL" }),
  ),
  rootDisabled: defineError(
    "126",
    404,
    "the path is `/` and `openapi-mode` is `disabled`",
    () => ({ message: "Root endpoint metadata is disabled" }),
  ),
  aggregateInToManySpread: defineError("127", 400, "a to-many spread has an aggregate", () => ({
    message: "Feature not implemented",
    details: "Aggregates are not implemented for one-to-many or many-to-many spreads.",
  })),
  maxAffectedOnSingle: defineError(
    "128",
    400,
    "a request with `max-affected` calls a function that does not return a set",
    () => ({
      message: "Function must return SETOF or TABLE when max-affected preference is used with " +
        "handling=strict",
    }),
  ),

  bodyTooLarge: defineError(
    "130",
    413,
    "the body exceeds `server-max-body-size`, or 1,023 MiB in PostgreSQL",
    (allowed: number, length: number | null) => ({
      message: "Request body too large",
      details: length === null
        ? `At most ${allowed} bytes are accepted`
        : `The body has ${length} bytes; at most ${allowed} are accepted`,
      closesConnection: true,
    }),
  ),
  bodyExpandsTooMuch: defineError(
    "130",
    413,
    "a compressed body decodes to more than 200 times its length",
    (ratio: number) => ({
      message: "Request body too large",
      details: `The body decodes to more than ${ratio} times its length`,
    }),
  ),
  bodyTooSlow: defineError(
    "133",
    408,
    "a long body that is not stored arrives below 64 KiB per second",
    () => ({
      message: "Request body was not received in time",
      headers: [["Connection", "close"]],
    }),
  ),
  spoolFull: defineError(
    "135",
    503,
    "the temporary files have no room for a long body",
    () => ({
      message: "Too many requests at the same time",
      details: "The temporary files of long bodies have no room for this one",
      headers: [["Retry-After", "5"]],
    }),
  ),
  unsupportedContentCoding: defineError(
    "138",
    415,
    "the service cannot decode the `Content-Encoding` of the body",
    (coding: string, offered: readonly string[]) => ({
      message: "Content-Encoding not supported",
      details: `${quotable(coding)} is not one of: ${offered.join(", ")}`,
      headers: [["Accept-Encoding", offered.join(", ")]],
    }),
  ),
  undecodableBody: defineError(
    "139",
    400,
    "a compressed body is corrupt or truncated",
    (coding: string) => ({
      message: "Request body cannot be decoded",
      details: `The body is not complete data of the coding ${coding}`,
    }),
  ),

  foreignSite: defineError(
    "191",
    403,
    "in quick mode, the host is not this machine, or another site sends it",
    (header: "Host" | "Origin") =>
      header === "Host"
        ? {
          message: "The Host header names another server",
          hint: "Call http://127.0.0.1:3000, or set server-host",
        }
        : {
          message: "The request comes from another site",
          hint: "Set server-cors-allowed-origins to the origin of the site",
        },
  ),

  // Group 2: schema cache
  noRelationship: defineError(
    "200",
    400,
    "the schema cache has no relationship for an embed",
    (problem: {
      readonly parent: string;
      readonly child: string;
      readonly schema: string;
      /** The `!hint` of the request. */
      readonly requestHint: string | null;
      readonly suggestion: string | null;
    }) => ({
      message: `Could not find a relationship between '${problem.parent}' and ` +
        `'${quotable(problem.child)}' in the schema cache`,
      details: `Searched for a foreign key relationship between '${problem.parent}' and ` +
        `'${quotable(problem.child)}'` +
        (problem.requestHint === null ? "" : ` using the hint '${quotable(problem.requestHint)}'`) +
        ` in the schema '${problem.schema}', but no matches were found.`,
      hint: problem.suggestion,
    }),
  ),
  ambiguousRelationship: defineError(
    "201",
    300,
    "the schema cache has several relationships for an embed",
    (problem: {
      readonly parent: string;
      readonly child: string;
      readonly candidates: readonly EmbeddingCandidate[];
    }) => ({
      message: "Could not embed because more than one relationship was found for " +
        `'${problem.parent}' and '${problem.child}'`,
      details: problem.candidates.map(({ cardinality, embedding, relationship }) => ({
        cardinality,
        embedding,
        relationship,
      })),
      hint: `Try changing '${problem.child}' to one of the following: ` +
        problem.candidates.map(({ suggestion }) => `'${suggestion}'`).join(", ") +
        ". Find the desired relationship in the 'details' key.",
    }),
  ),
  noFunction: defineError(
    "202",
    404,
    "no function matches the name and the arguments",
    (texts: ErrorTexts) => texts,
  ),
  ambiguousFunction: defineError(
    "203",
    300,
    "several functions match the name and the arguments",
    (candidates: readonly string[]) => ({
      message: "Could not choose the best candidate function between: " + candidates.join(", "),
      hint: "Try renaming the parameters or the function itself in the database so function " +
        "overloading can be resolved",
    }),
  ),
  noColumn: defineError(
    "204",
    400,
    "a column of the body or of `columns` does not exist",
    (column: string, relation: string) => ({
      message: `Could not find the '${
        quotable(column)
      }' column of '${relation}' in the schema cache`,
    }),
  ),
  noRelation: defineError(
    "205",
    404,
    "the relation does not exist in the exposed schema",
    (relation: Qualified, suggestion: Qualified | null) => ({
      message: `Could not find the table '${qualified(relation)}' in the schema cache`,
      hint: suggestion === null ? null : `Perhaps you meant the table '${qualified(suggestion)}'`,
    }),
  ),

  // Group 3: tokens
  noSecret: defineError(
    "300",
    500,
    "the request has a token and `jwt-secret` is not set",
    () => ({ message: "Server lacks JWT secret" }),
  ),
  invalidToken: defineError("301", 401, "the token is not valid", invalidToken),
  invalidClaims: defineError(
    "301",
    401,
    "a claim of the token is invalid or expired: `exp`, `nbf`, `iat`, `aud`",
    (message: string) => ({ ...invalidToken(message), variant: "claims" }),
  ),
  noAnonymousRole: defineError(
    "302",
    401,
    "the request has no token and `db-anon-role` is not set",
    () => ({
      message: "Anonymous access is disabled",
      headers: bearerChallenge,
    }),
  ),

  // Group X: internal
  internal: defineError(
    "X00",
    500,
    "the service has an internal error",
    (message: string) => ({ message }),
  ),
} as const;

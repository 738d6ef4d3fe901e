/** Errors of requests. @module */
import { defineError } from "./definition.ts";
import { quotable, quotableList } from "./quoting.ts";

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

/** Media types of the bodies of PATCH (RFC 5789). */
const patchTypes = [
  "application/json",
  "application/merge-patch+json",
  "application/json-patch+json",
  "application/vnd.svc.patch+json",
  "application/x-ndjson",
  "text/csv",
  "application/x-www-form-urlencoded",
].join(", ");

export const requestErrors = {
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
      /** The problem in words; null if only the parser's texts say it. */
      readonly inWords: string | null;
    }) => ({
      ...(problem.inWords === null ? {} : { inWords: quotable(problem.inWords) }),
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
    (contentType: string, isPatch: boolean) => ({
      message: `Content-Type not acceptable: ${quotable(contentType)}`,
      variant: "content type",
      ...(isPatch ? { headers: [["Accept-Patch", patchTypes]] as const } : {}),
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
    (name: string, hint: string | null = null) => ({
      message: `'${quotable(name)}' is not an embedded resource in this request`,
      hint: hint === null
        ? `Verify that '${quotable(name)}' is included in the 'select' query parameter.`
        : quotable(hint),
    }),
  ),
  notInColumns: defineError(
    "108",
    400,
    "`on_conflict` or `resolution` addresses a relation that is not in `columns`",
    (path: readonly string[]) => ({
      message: `'${quotable(path.join("."))}' is not a nested item of this request`,
      hint: "Verify that it is included in the 'columns' query parameter.",
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
      advice: "Set db-aggregates-enabled = true",
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
    () => ({
      message: "Root endpoint metadata is disabled",
      advice: 'Set openapi-mode = "follow-privileges"',
    }),
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
} as const;

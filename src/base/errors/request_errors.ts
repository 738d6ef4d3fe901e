/** Errors of requests. @module */
import { defineError } from "./definition.ts";
import { quotable, quotableList } from "./quoting.ts";

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
  parse: defineError("100", 400, (problem: {
    /** The part of the request that cannot be parsed: `filter`, `tree path`, `select parameter`, … */
    readonly what: string;
    readonly raw: string;
    /** One-based. */
    readonly column: number;
    readonly details: string;
    /** The problem in words; null if only the parser's texts describe it. */
    readonly inWords: string | null;
  }) => ({
    ...(problem.inWords === null ? {} : { inWords: quotable(problem.inWords) }),
    message: `"failed to parse ${problem.what} (${
      quotable(problem.raw)
    })" (line 1, column ${problem.column})`,
    details: problem.details,
    ...(problem.what === "filter" ? { subject: { filter: problem.raw } } : {}),
  })).when("a query parameter cannot be parsed"),
  methodOnFunction: defineError("101", 405, (method: string) => ({
    message: `Cannot use the ${quotable(method)} method on RPC`,
  })).when("the method of a function call is not GET, HEAD or POST"),
  unusableName: defineError("100", 400, (name: string, problem: string) => ({
    message: `A name has ${problem}`,
    details: quotable(name),
    hint: "Give it another alias",
  })).when("a name is longer than PostgreSQL allows, which would truncate it"),
  invalidBody: defineError("102", 400, (message: string, details: string | null = null) => ({
    message,
    details,
  })).when("the body is malformed"),
  abandonedBody: defineError("102", 400, () => ({
    message: "The body ended early",
    clientLeft: true,
  })).when("the client left before the body was complete"),
  invalidJson: defineError("102", 400, (place: string) => ({
    message: "Empty or invalid json",
    place,
  })).when("the body is not JSON although its media type is"),
  mixedKeys: defineError("102", 400, () => ({
    message: "All object keys must match",
    advice: "Send objects that all have the same keys, or name the columns: columns=<names>",
  })).when("the body has objects of different keys, or elements that are no objects"),
  invalidRange: defineError("103", 416, (details: string) => ({
    message: "Requested range not satisfiable",
    details,
  })).when("the requested range is invalid, or begins after the last row"),
  invalidPut: defineError("105", 405, () => ({
    message: "Filters must include all and only primary key columns with 'eq' operators",
  })).when("the filters of a PUT are not exactly the primary key by `eq`"),
  unacceptableSchema: defineError("106", 406, (schema: string, exposed: readonly string[]) => ({
    message: `Invalid schema: ${quotable(schema)}`,
    hint: `Only the following schemas are exposed: ${exposed.join(", ")}`,
  })).when("the profile header names a schema that is not exposed"),
  unsupportedContentType: defineError("107", 415, (contentType: string, isPatch: boolean) => ({
    message: `Content-Type not acceptable: ${quotable(contentType)}`,
    variant: "content type",
    ...(isPatch ? { headers: [["Accept-Patch", patchTypes]] as const } : {}),
  })).when("the media type of the body is not supported"),
  notAcceptable: defineError("107", 406, (mediaTypes: readonly string[]) => ({
    message: `None of these media types are available: ${quotableList(mediaTypes)}`,
  })).when("the service can produce none of the accepted media types"),
  notEmbedded: defineError("108", 400, (name: string, hint: string | null = null) => ({
    message: `'${quotable(name)}' is not an embedded resource in this request`,
    hint: hint === null
      ? `Verify that '${quotable(name)}' is included in the 'select' query parameter.`
      : quotable(hint),
  })).when("a filter, order or limit addresses a relation that is not in `select`"),
  notInColumns: defineError("108", 400, (path: readonly string[]) => ({
    message: `'${quotable(path.join("."))}' is not a nested item of this request`,
    hint: "Verify that it is included in the 'columns' query parameter.",
  })).when("`on_conflict` or `resolution` addresses a relation that is not in `columns`"),
  embeddedUnderAlias: defineError("108", 400, (name: string, alias: string) => ({
    message: `'${quotable(name)}' is not an embedded resource in this request`,
    details: "Target names are not allowed in filters if they have an alias",
    hint: `Change '${quotable(name)}' to '${quotable(alias)}' in filters, orders or limits.`,
  })).when("a filter, order or limit addresses an aliased embed by its relation"),
  limitWithoutOrder: defineError("109", 400, () => ({
    message: "A 'limit' was applied without an explicit 'order'",
    hint: "Apply an 'order' using unique column(s)",
  })).when("a PATCH or DELETE has `limit` without `order`"),
  limitSurpassed: defineError("110", 400, (changed: number, allowed: bigint) => ({
    message: "The maximum number of rows allowed to change was surpassed",
    details: `Results contain ${changed} rows changed but the maximum number allowed is ${allowed}`,
  })).when("a limited PATCH or DELETE would change more rows than the limit"),
  invalidResponseHeaders: defineError("111", 500, () => ({
    message: "response.headers guc must be a JSON array composed of objects with a single key " +
      "and a string value",
  })).when("`response.headers`, set in the database, is invalid"),
  invalidResponseStatus: defineError("112", 500, () => ({
    message: "response.status guc must be a valid status code",
  })).when("`response.status`, set in the database, is invalid"),
  putWithLimits: defineError("114", 400, () => ({
    message: "limit/offset querystring parameters are not allowed for PUT",
  })).when("a PUT has `limit` or `offset`"),
  putMismatch: defineError("115", 400, () => ({
    message: "Payload values do not match URL in primary key column(s)",
  })).when("the primary key in the body of a PUT differs from the URL"),
  notSingular: defineError("116", 406, (rows: number) => ({
    message: "Cannot coerce the result to a single JSON object",
    details: `The result contains ${rows} rows`,
  })).when("the client requests one object and the result does not have exactly one row"),
  unsupportedMethod: defineError("117", 405, (method: string) => ({
    message: `Unsupported HTTP method: ${quotable(method)}`,
  })).when("the method is not supported"),
  relatedOrderToMany: defineError("118", 400, (origin: string, embed: string) => ({
    message: `A related order on '${quotable(embed)}' is not possible`,
    details: `'${origin}' and '${
      quotable(embed)
    }' do not form a many-to-one or one-to-one relationship`,
  })).when("`order` names an embed that is not to-one"),
  spreadToMany: defineError("119", 400, (origin: string, embed: string) => ({
    message: `A spread operation on '${quotable(embed)}' is not possible`,
    details: `'${origin}' and '${
      quotable(embed)
    }' do not form a many-to-one or one-to-one relationship`,
  })).when("a spread embed is not to-one"),
  embedOperator: defineError("120", 400, (embed: string) => ({
    message: `Bad operator on the '${quotable(embed)}' embedded resource`,
    details: "Only is null or not is null filters are allowed on embedded resources",
  })).when("a filter on an embed is neither `is.null` nor `not.is.null`"),
  invalidRaise: defineError("121", 400, (state: string, details: string, hint: string) => ({
    message: `Could not parse JSON in the "RAISE SQLSTATE '${state}'" error`,
    details,
    hint,
    variant: "raise",
  })).when("the JSON of a full-control RAISE is invalid"),
  invalidPreferences: defineError("122", 400, (preferences: readonly string[]) => ({
    message: "Invalid preferences given with handling=strict",
    details: `Invalid preferences: ${quotableList(preferences)}`,
  })).when("a request with `Prefer: handling=strict` has unknown preferences"),
  aggregatesDisabled: defineError("123", 400, () => ({
    message: "Use of aggregate functions is not allowed",
    advice: "Set db-aggregates-enabled = true",
  })).when("`select` has an aggregate and `db-aggregates-enabled` is false"),
  maxAffectedExceeded: defineError("124", 400, (rows: number) => ({
    message: "Query result exceeds max-affected preference constraint",
    details: `The query affects ${rows} rows`,
  })).when("the request affects more rows than `Prefer: max-affected` allows"),
  invalidPath: defineError("125", 404, () => ({ message: "Invalid path specified in request URL" }))
    .when("the path is not `/`, `/<relation>` or `/rpc/<function>`"),
  rootDisabled: defineError("126", 404, () => ({
    message: "Root endpoint metadata is disabled",
    advice: 'Set openapi-mode = "follow-privileges"',
  })).when("the path is `/` and `openapi-mode` is `disabled`"),
  aggregateInToManySpread: defineError("127", 400, () => ({
    message: "Feature not implemented",
    details: "Aggregates are not implemented for one-to-many or many-to-many spreads.",
  })).when("a to-many spread has an aggregate"),
  maxAffectedOnSingle: defineError("128", 400, () => ({
    message: "Function must return SETOF or TABLE when max-affected preference is used with " +
      "handling=strict",
  })).when("a request with `max-affected` calls a function that does not return a set"),
} as const;

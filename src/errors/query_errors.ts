/** Errors of values, groups and conditions in the query string. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const queryErrors = {
  onlyForReading: defineError(
    "160",
    400,
    "a write has a clause that only reads take, such as `having`",
    (clause: string) => ({ message: `'${quotable(clause)}' can only be used to read` }),
  ),
  distinctDisabled: defineError(
    "161",
    400,
    "the request has `distinct` and `db-aggregates-enabled` is false",
    () => ({ message: "Use of distinct is not allowed" }),
  ),
  notGrouped: defineError(
    "162",
    400,
    "a condition on groups names neither an aggregate nor a group's column",
    (name: string) => ({
      message: `'${quotable(name)}' is neither grouped nor aggregated`,
      hint: "Add it to 'select'",
    }),
  ),
  distinctConflict: defineError(
    "163",
    400,
    "`distinct` stands beside aggregates, or an order by no item of `select`",
    (other: string) => ({ message: `'distinct' cannot be combined with ${quotable(other)}` }),
  ),
  unknownFunction: defineError(
    "164",
    400,
    "a value calls a function that `db-url-functions` does not allow",
    (name: string, similar: string | null) => ({
      message: `Function '${quotable(name)}' is not available in URLs`,
      variant: "function",
      hint: similar === null ? null : `Perhaps you meant '${similar}'`,
    }),
  ),
  invalidArguments: defineError(
    "165",
    400,
    "a function in a value has other arguments, or is an aggregate in WHERE",
    (name: string, expected: string) => ({
      message: `Invalid arguments of '${name}'`,
      details: `Expected ${expected}`,
    }),
  ),
  missingText: defineError(
    "166",
    400,
    "a value names an `@` parameter that the request does not have",
    (name: string) => ({ message: `Parameter '@${quotable(name)}' is missing` }),
  ),
  noOperator: defineError(
    "167",
    400,
    "a function or operator of a value does not exist for the type of its column",
    (
      name: string,
      { column, type }: { readonly column: string; readonly type: string | null },
    ) => ({
      message: `'${name}' is not available for '${quotable(column)}' of type ${
        type === null ? "unknown" : quotable(type)
      }`,
      hint: "Is the extension installed?",
    }),
  ),
  embeddedSchemaNotExposed: defineError(
    "172",
    400,
    "an embed names a schema that is not exposed",
    (schema: string, exposed: readonly string[]) => ({
      message: `Invalid schema: ${quotable(schema)}`,
      hint: `Only the following schemas are exposed: ${exposed.join(", ")}`,
    }),
  ),
  cannotLeaveOut: defineError(
    "173",
    400,
    "`-column` follows neither `*` nor `**`, or names an unknown column",
    (column: string, relation: string) => ({
      message: `Could not leave out column '${quotable(column)}' of '${quotable(relation)}'`,
    }),
  ),
  severalValues: defineError(
    "174",
    400,
    "a comparison names a to-many embed without an aggregate",
    (embed: string, column: string) => ({
      message: `'${quotable(embed)}' gives more than one value`,
      hint: `Use an aggregate: ${quotable(embed)}(${quotable(column)}.max())`,
    }),
  ),
  unsupportedQueryType: defineError(
    "107",
    415,
    "the parameters in a body are neither a form nor, for a function, JSON",
    (contentType: string | null, accepted: string) => ({
      message: `Content-Type not acceptable: ${
        contentType === null ? "none" : quotable(contentType)
      }`,
      headers: [["Accept-Query", accepted]],
    }),
  ),
  queryTooLarge: defineError(
    "176",
    413,
    "the body of QUERY or `$query` exceeds `server-max-query-body`",
    (allowed: number, length: number | null) => ({
      message: `The query has more than ${allowed} bytes`,
      details: length === null ? null : `The body has ${length} bytes`,
      closesConnection: true,
    }),
  ),
  queryTooComplex: defineError(
    "177",
    400,
    "the query string exceeds a limit of values or conditions",
    (allowed: number, things: string) => ({
      message: "The query is too complex",
      details: `More than ${allowed} ${things}`,
    }),
  ),
  unreadableQuery: defineError(
    "178",
    400,
    "the body of QUERY or `$query` is not UTF-8, or has the character U+0000",
    () => ({ message: "The query cannot be read" }),
  ),
  moreRows: defineError(
    "179",
    400,
    "more rows than `db-max-rows` or `@maxRows` allows, with `max-rows=fail`",
    (allowed: number) => ({
      message: `The result has more than ${allowed} ${allowed === 1 ? "row" : "rows"}`,
      hint: "Request fewer rows with 'limit', or pages of them",
    }),
  ),
} as const;

export const cursorErrors = {
  invalidCursor: defineError(
    "168",
    400,
    "`after` or `before` has a value that is not a cursor",
    () => ({ message: "Invalid cursor" }),
  ),
  otherCursor: defineError(
    "169",
    400,
    "`after` or `before` has the cursor of another order or relation",
    (order: string) => ({
      message: "The cursor belongs to another order of rows",
      details: `Order is: ${quotable(order)}`,
      hint: "Begin with an empty 'after'",
    }),
  ),
  noKey: defineError(
    "170",
    400,
    "a request has cursors, and the schema cache has no key of the rows",
    (relation: string) => ({
      message: `Rows of '${quotable(relation)}' have no known key`,
      hint: "Declare one: db-relationships or a comment with @primaryKey",
    }),
  ),
  cursorConflict: defineError(
    "171",
    400,
    "a cursor stands beside an offset, another cursor, a distance or a spread",
    (other: string) => ({ message: `A cursor cannot be combined with ${other}` }),
  ),
} as const;

/** Errors of values, groups and conditions in the query string. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const queryErrors = {
  onlyForReading: defineError("160", 400, (clause: string) => ({
    message: `'${quotable(clause)}' can only be used to read`,
  })).when("a write has a clause that only reads take, such as `having` or `!inner`"),
  unusedParameter: defineError("196", 400, ({ name, why }: { name: string; why: string }) => ({
    message: `Parameter '${quotable(name)}' cannot be applied`,
    details: `It ${why}`,
    hint: (why === "has no value" || why === "is a filter") && !/["<>]/.test(name)
      ? `To filter a column of this name, write ${
        quotable(name.replace(/[^.]*$/, '"$&"'))
      }=eq.<value>`
      : null,
  })).when("a parameter of a write has no effect, or `limit` of a read is not an integer"),
  distinctDisabled: defineError("161", 400, () => ({ message: "Use of distinct is not allowed" }))
    .when("the request has `distinct` and `db-aggregates-enabled` is false"),
  notGrouped: defineError("162", 400, (name: string) => ({
    message: `'${quotable(name)}' is neither grouped nor aggregated`,
    hint: "Add it to 'select'",
  })).when("a condition on groups names neither an aggregate nor a group's column"),
  distinctConflict: defineError("163", 400, (other: string) => ({
    message: `'distinct' cannot be combined with ${quotable(other)}`,
  })).when("`distinct` meets aggregates, or an order by no item of `select`"),
  unknownFunction: defineError("164", 400, (name: string, similar: string | null) => ({
    message: `Function '${quotable(name)}' is not available in URLs`,
    variant: "function",
    hint: similar === null ? null : `Perhaps you meant '${similar}'`,
  })).when("a value calls a function that `db-url-functions` does not allow"),
  invalidArguments: defineError("165", 400, (name: string, expected: string) => ({
    message: `Invalid arguments of '${name}'`,
    details: `Expected ${expected}`,
  })).when("a function in a value has other arguments, or is an aggregate in WHERE"),
  missingText: defineError("166", 400, (name: string) => ({
    message: `Parameter '@${quotable(name)}' is missing`,
  })).when("a value names an `@` parameter that the request does not have"),
  noOperator: defineError("167", 400, (
    name: string,
    { column, type }: { readonly column: string; readonly type: string | null },
  ) => ({
    message: `'${name}' is not available for '${quotable(column)}' of type ${
      type === null ? "unknown" : quotable(type)
    }`,
    hint: "Is the extension installed?",
  })).when("a function or operator of a value does not exist for the type of its column"),
  embeddedSchemaNotExposed: defineError(
    "172",
    400,
    (schema: string, exposed: readonly string[]) => ({
      message: `Invalid schema: ${quotable(schema)}`,
      hint: `Only the following schemas are exposed: ${exposed.join(", ")}`,
    }),
  ).when("an embed names a schema that is not exposed"),
  cannotLeaveOut: defineError("173", 400, (column: string, relation: string) => ({
    message: `Could not leave out column '${quotable(column)}' of '${quotable(relation)}'`,
  })).when("`-column` follows neither `*` nor `**`, or names an unknown column"),
  severalValues: defineError("174", 400, (embed: string, column: string) => ({
    message: `'${quotable(embed)}' gives more than one value`,
    hint: `Use an aggregate: ${quotable(embed)}(${quotable(column)}.max())`,
  })).when("a comparison names a to-many embed without an aggregate"),
  unsupportedQueryType: defineError("107", 415, (contentType: string | null, accepted: string) => ({
    message: `Content-Type not acceptable: ${
      contentType === null ? "none" : quotable(contentType)
    }`,
    headers: [["Accept-Query", accepted]],
  })).when("the parameters in a body are neither a form nor, for a function, JSON"),
  queryTooLarge: defineError("176", 413, (allowed: number, length: number | null) => ({
    message: `The query has more than ${allowed} bytes`,
    details: length === null ? null : `The body has ${length} bytes`,
    closesConnection: true,
  })).when("the body of QUERY or `$query` exceeds `server-max-query-body`"),
  queryTooComplex: defineError("177", 400, (allowed: number, things: string) => ({
    message: "The query is too complex",
    details: `More than ${allowed} ${things}`,
  })).when("the query string exceeds a limit of values or conditions"),
  unreadableQuery: defineError("178", 400, () => ({ message: "The query cannot be read" })).when(
    "the body of QUERY or `$query` is not UTF-8, or has the character U+0000",
  ),
  moreRows: defineError("179", 400, (allowed: number) => ({
    message: `The result has more than ${allowed} ${allowed === 1 ? "row" : "rows"}`,
    hint: "Request fewer rows with 'limit', or pages of them",
  })).when("more rows than `db-max-rows` or `@maxRows` allows, with `max-rows=fail`"),
  invalidCursor: defineError("168", 400, () => ({ message: "Invalid cursor" })).when(
    "`after` or `before` has a value that is not a cursor",
  ),
  otherCursor: defineError("169", 400, () => ({
    message: "The cursor belongs to another order of rows",
    hint: "Begin with an empty 'after'",
  })).when("`after` or `before` has the cursor of another order or relation"),
  noKey: defineError("170", 400, (relation: string) => ({
    message: `Rows of '${quotable(relation)}' have no known key`,
    hint: "Declare one: a comment with @primaryKey",
  })).when("a request has cursors, and the schema cache has no key of the rows"),
  cursorConflict: defineError("171", 400, (other: string) => ({
    message: `A cursor cannot be combined with ${other}`,
  })).when("a cursor is in an embed, or used with groups, an offset, or a distance"),
} as const;

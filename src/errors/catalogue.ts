/**
 * Every error of the service: code, status and wording stand together, one row each. Codes are
 * without the dialect's prefix. Sources: the requirements' tables and reference 10.
 *
 * @module
 */
import { type ErrorTexts, ServiceError } from "./service_error.ts";

type Headers = readonly (readonly [string, string])[];

function entry<Args extends readonly unknown[]>(
  code: string,
  status: number,
  texts: (...args: Args) => ErrorTexts & { readonly headers?: Headers },
): ((...args: Args) => ServiceError) & { readonly code: string; readonly status: number } {
  const make = (...args: Args) => new ServiceError({ code, own: true, status, ...texts(...args) });
  return Object.assign(make, { code, status });
}

/** `WWW-Authenticate` of a request that should have brought a token. */
export const bearerChallenge: Headers = [["WWW-Authenticate", "Bearer"]];

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

const qualified = ({ schema, name }: Qualified) => `${schema}.${name}`;

/** What an ambiguous embedding could have meant. */
export interface EmbeddingCandidate {
  readonly cardinality: string;
  readonly embedding: string;
  readonly relationship: string;
  /** What stands in the hint: `places!orders_from_fkey`. */
  readonly suggestion: string;
}

/** The catalogue. Each row makes a {@linkcode ServiceError}. */
export const errors = {
  // Group 0: connection
  cannotConnect: entry("000", 503, (details: string | null) => ({
    message: "Database connection error.",
    details,
  })),
  connectionLost: entry("001", 503, (details: string | null) => ({
    message: "Database client error. Retrying the connection.",
    details,
  })),
  noSchemaCache: entry("002", 503, () => ({
    message: "Could not query the database for the schema cache. Retrying.",
  })),
  acquisitionTimeout: entry("003", 504, () => ({
    message: "Timed out acquiring connection from connection pool.",
  })),

  // Group 1: request
  parse: entry(
    "100",
    400,
    (problem: {
      /** `filter`, `tree path`, `select parameter`, … */
      readonly what: string;
      readonly raw: string;
      /** One-based. */
      readonly column: number;
      readonly details: string;
    }) => ({
      message:
        `"failed to parse ${problem.what} (${problem.raw})" (line 1, column ${problem.column})`,
      details: problem.details,
    }),
  ),
  methodOnFunction: entry("101", 405, (method: string) => ({
    message: `Cannot use the ${method} method on RPC`,
  })),
  invalidBody: entry("102", 400, (message: string) => ({ message })),
  invalidRange: entry("103", 416, (details: string) => ({
    message: "Requested range not satisfiable",
    details,
  })),
  invalidPut: entry("105", 405, () => ({
    message: "Filters must include all and only primary key columns with 'eq' operators",
  })),
  unacceptableSchema: entry("106", 406, (schema: string, exposed: readonly string[]) => ({
    message: `Invalid schema: ${schema}`,
    hint: `Only the following schemas are exposed: ${exposed.join(", ")}`,
  })),
  unsupportedContentType: entry("107", 415, (contentType: string) => ({
    message: `Content-Type not acceptable: ${contentType}`,
  })),
  notAcceptable: entry("107", 406, (mediaTypes: readonly string[]) => ({
    message: `None of these media types are available: ${mediaTypes.join(", ")}`,
  })),
  notEmbedded: entry("108", 400, (name: string) => ({
    message: `'${name}' is not an embedded resource in this request`,
    hint: `Verify that '${name}' is included in the 'select' query parameter.`,
  })),
  embeddedUnderAlias: entry("108", 400, (name: string, alias: string) => ({
    message: `'${name}' is not an embedded resource in this request`,
    details: "Target names are not allowed in filters if they have an alias",
    hint: `Change '${name}' to '${alias}' in filters, orders or limits.`,
  })),
  limitWithoutOrder: entry("109", 400, () => ({
    message: "A 'limit' was applied without an explicit 'order'",
    hint: "Apply an 'order' using unique column(s)",
  })),
  limitSurpassed: entry("110", 400, (changed: number, allowed: number) => ({
    message: "The maximum number of rows allowed to change was surpassed",
    details: `Results contain ${changed} rows changed but the maximum number allowed is ${allowed}`,
  })),
  invalidResponseHeaders: entry("111", 500, () => ({
    message: "response.headers guc must be a JSON array composed of objects with a single key " +
      "and a string value",
  })),
  invalidResponseStatus: entry("112", 500, () => ({
    message: "response.status guc must be a valid status code",
  })),
  putWithLimits: entry("114", 400, () => ({
    message: "limit/offset querystring parameters are not allowed for PUT",
  })),
  putMismatch: entry("115", 400, () => ({
    message: "Payload values do not match URL in primary key column(s)",
  })),
  notSingular: entry("116", 406, (rows: number) => ({
    message: "Cannot coerce the result to a single JSON object",
    details: `The result contains ${rows} rows`,
  })),
  unsupportedMethod: entry("117", 405, (method: string) => ({
    message: `Unsupported HTTP method: ${method}`,
  })),
  relatedOrderToMany: entry("118", 400, (origin: string, embed: string) => ({
    message: `A related order on '${embed}' is not possible`,
    details: `'${origin}' and '${embed}' do not form a many-to-one or one-to-one relationship`,
  })),
  spreadToMany: entry("119", 400, (origin: string, embed: string) => ({
    message: `A spread operation on '${embed}' is not possible`,
    details: `'${origin}' and '${embed}' do not form a many-to-one or one-to-one relationship`,
  })),
  embedOperator: entry("120", 400, (embed: string) => ({
    message: `Bad operator on the '${embed}' embedded resource`,
    details: "Only is null or not is null filters are allowed on embedded resources",
  })),
  invalidRaise: entry(
    "121",
    400,
    (state: string, details: string, hint: string) => ({
      message: `Could not parse JSON in the "RAISE SQLSTATE '${state}'" error`,
      details,
      hint,
    }),
  ),
  invalidPreferences: entry("122", 400, (preferences: readonly string[]) => ({
    message: "Invalid preferences given with handling=strict",
    details: `Invalid preferences: ${preferences.join(", ")}`,
  })),
  aggregatesDisabled: entry("123", 400, () => ({
    message: "Use of aggregate functions is not allowed",
  })),
  maxAffectedExceeded: entry("124", 400, (rows: number) => ({
    message: "Query result exceeds max-affected preference constraint",
    details: `The query affects ${rows} rows`,
  })),
  invalidPath: entry("125", 404, () => ({ message: "Invalid path specified in request URL" })),
  rootDisabled: entry("126", 404, () => ({ message: "Root endpoint metadata is disabled" })),
  aggregateInToManySpread: entry("127", 400, () => ({
    message: "Feature not implemented",
    details: "Aggregates are not implemented for one-to-many or many-to-many spreads.",
  })),
  maxAffectedOnSingle: entry("128", 400, () => ({
    message: "Function must return SETOF or TABLE when max-affected preference is used with " +
      "handling=strict",
  })),

  // Group 2: schema cache
  noRelationship: entry(
    "200",
    400,
    (problem: {
      readonly parent: string;
      readonly child: string;
      readonly schema: string;
      /** The `!hint` of the request. */
      readonly requestHint: string | null;
      readonly suggestion: string | null;
    }) => ({
      message: `Could not find a relationship between '${problem.parent}' and ` +
        `'${problem.child}' in the schema cache`,
      details: `Searched for a foreign key relationship between '${problem.parent}' and ` +
        `'${problem.child}'` +
        (problem.requestHint === null ? "" : ` using the hint '${problem.requestHint}'`) +
        ` in the schema '${problem.schema}', but no matches were found.`,
      hint: problem.suggestion,
    }),
  ),
  ambiguousRelationship: entry(
    "201",
    300,
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
  noFunction: entry("202", 404, (texts: ErrorTexts) => texts),
  ambiguousFunction: entry("203", 300, (candidates: readonly string[]) => ({
    message: "Could not choose the best candidate function between: " + candidates.join(", "),
    hint: "Try renaming the parameters or the function itself in the database so function " +
      "overloading can be resolved",
  })),
  noColumn: entry("204", 400, (column: string, relation: string) => ({
    message: `Could not find the '${column}' column of '${relation}' in the schema cache`,
  })),
  noRelation: entry("205", 404, (relation: Qualified, suggestion: Qualified | null) => ({
    message: `Could not find the table '${qualified(relation)}' in the schema cache`,
    hint: suggestion === null ? null : `Perhaps you meant the table '${qualified(suggestion)}'`,
  })),

  // Group 3: tokens
  noSecret: entry("300", 500, () => ({ message: "Server lacks JWT secret" })),
  invalidToken: entry("301", 401, invalidToken),
  noAnonymousRole: entry("302", 401, () => ({
    message: "Anonymous access is disabled",
    headers: bearerChallenge,
  })),

  // Group X: internal
  internal: entry("X00", 500, (message: string) => ({ message })),
} as const;

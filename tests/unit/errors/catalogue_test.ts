import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { errors } from "../../../src/errors/catalogue.ts";
import { ServiceError } from "../../../src/errors/service_error.ts";

const candidates = [
  {
    cardinality: "many-to-one",
    embedding: "sites with big_projects",
    relationship: "main_project using sites(main_project_id) and big_projects(big_project_id)",
    suggestion: "big_projects!main_project",
  },
  {
    cardinality: "many-to-many",
    embedding: "sites with big_projects",
    relationship:
      "jobs using jobs_site_id_fkey(site_id) and jobs_big_project_id_fkey(big_project_id)",
    suggestion: "big_projects!jobs",
  },
];
const missing = { parent: "a", child: "b", schema: "api", requestHint: null, suggestion: null };
const unsatisfiable = "Requested range not satisfiable";
const challenge = [["WWW-Authenticate", "Bearer"]];

/** An error, and what it says; `details`, `hint` and `headers` are null where they are not given. */
type Row = readonly [
  error: ServiceError,
  code: string,
  status: number,
  message: string,
  others?: { details?: unknown; hint?: string; headers?: unknown },
];

const rows: readonly Row[] = [
  [errors.cannotConnect(null), "000", 503, "Database connection error."],
  [errors.cannotConnect("refused\n"), "000", 503, "Database connection error.", {
    details: "refused\n",
  }],
  [
    errors.connectionLost("no connection to the server\n"),
    "001",
    503,
    "Database client error. Retrying the connection.",
    { details: "no connection to the server\n" },
  ],
  [
    errors.noSchemaCache(),
    "002",
    503,
    "Could not query the database for the schema cache. Retrying.",
  ],
  [errors.acquisitionTimeout(), "003", 504, "Timed out acquiring connection from connection pool."],
  [
    errors.parse({ what: "filter", raw: "x.1", column: 3, details: "unexpected x expecting y" }),
    "100",
    400,
    '"failed to parse filter (x.1)" (line 1, column 3)',
    { details: "unexpected x expecting y" },
  ],
  [errors.methodOnFunction("PUT"), "101", 405, "Cannot use the PUT method on RPC"],
  [errors.invalidBody("Empty or invalid json"), "102", 400, "Empty or invalid json"],
  [errors.invalidRange("x"), "103", 416, unsatisfiable, { details: "x" }],
  [
    errors.invalidPut(),
    "105",
    405,
    "Filters must include all and only primary key columns with 'eq' operators",
  ],
  [errors.unacceptableSchema("x", ["a", "b"]), "106", 406, "Invalid schema: x", {
    hint: "Only the following schemas are exposed: a, b",
  }],
  [
    errors.unsupportedContentType("text/plain", false),
    "107",
    415,
    "Content-Type not acceptable: text/plain",
  ],
  [
    errors.notAcceptable(["text/a", "text/b"]),
    "107",
    406,
    "None of these media types are available: text/a, text/b",
  ],
  [errors.notEmbedded("x"), "108", 400, "'x' is not an embedded resource in this request", {
    hint: "Verify that 'x' is included in the 'select' query parameter.",
  }],
  [
    errors.embeddedUnderAlias("x", "y"),
    "108",
    400,
    "'x' is not an embedded resource in this request",
    {
      details: "Target names are not allowed in filters if they have an alias",
      hint: "Change 'x' to 'y' in filters, orders or limits.",
    },
  ],
  [
    errors.limitWithoutOrder(),
    "109",
    400,
    "A 'limit' was applied without an explicit 'order'",
    { hint: "Apply an 'order' using unique column(s)" },
  ],
  [
    errors.limitSurpassed(5, 2n),
    "110",
    400,
    "The maximum number of rows allowed to change was surpassed",
    { details: "Results contain 5 rows changed but the maximum number allowed is 2" },
  ],
  [
    errors.invalidResponseHeaders(),
    "111",
    500,
    "response.headers guc must be a JSON array composed of objects with a single key and a string value",
  ],
  [errors.invalidResponseStatus(), "112", 500, "response.status guc must be a valid status code"],
  [
    errors.putWithLimits(),
    "114",
    400,
    "limit/offset querystring parameters are not allowed for PUT",
  ],
  [errors.putMismatch(), "115", 400, "Payload values do not match URL in primary key column(s)"],
  [errors.notSingular(2), "116", 406, "Cannot coerce the result to a single JSON object", {
    details: "The result contains 2 rows",
  }],
  [errors.unsupportedMethod("TRACE"), "117", 405, "Unsupported HTTP method: TRACE"],
  [errors.relatedOrderToMany("a", "b"), "118", 400, "A related order on 'b' is not possible", {
    details: "'a' and 'b' do not form a many-to-one or one-to-one relationship",
  }],
  [errors.spreadToMany("a", "b"), "119", 400, "A spread operation on 'b' is not possible", {
    details: "'a' and 'b' do not form a many-to-one or one-to-one relationship",
  }],
  [errors.embedOperator("b"), "120", 400, "Bad operator on the 'b' embedded resource", {
    details: "Only is null or not is null filters are allowed on embedded resources",
  }],
  [
    errors.invalidRaise("SVC", "d", "h"),
    "121",
    400,
    "Could not parse JSON in the \"RAISE SQLSTATE 'SVC'\" error",
    { details: "d", hint: "h" },
  ],
  [
    errors.invalidPreferences(["a=b", "c"]),
    "122",
    400,
    "Invalid preferences given with handling=strict",
    { details: "Invalid preferences: a=b, c" },
  ],
  [errors.aggregatesDisabled(), "123", 400, "Use of aggregate functions is not allowed"],
  [
    errors.maxAffectedExceeded(3),
    "124",
    400,
    "Query result exceeds max-affected preference constraint",
    { details: "The query affects 3 rows" },
  ],
  [errors.invalidPath(), "125", 404, "Invalid path specified in request URL"],
  [errors.rootDisabled(), "126", 404, "Root endpoint metadata is disabled"],
  [errors.aggregateInToManySpread(), "127", 400, "Feature not implemented", {
    details: "Aggregates are not implemented for one-to-many or many-to-many spreads.",
  }],
  [
    errors.maxAffectedOnSingle(),
    "128",
    400,
    "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
  ],
  [errors.bodyExpandsTooMuch(200), "130", 413, "Request body too large", {
    details: "The body decodes to more than 200 times its length",
  }],
  [
    errors.rateLimited({ name: "anon", count: 60, windowSeconds: 60 }, 7),
    "136",
    429,
    "Too many requests",
    {
      details: "Policy anon allows 60 requests in 60 seconds",
      headers: [["Retry-After", "7"]],
    },
  ],
  [errors.queryTooExpensive(94500.2, 10000), "137", 413, "The query is too expensive", {
    details: "Estimated cost 94501, allowed 10000",
    hint: "Filter by an indexed column or set a limit",
  }],
  [
    errors.unsupportedContentCoding("x", ["gzip", "br"]),
    "138",
    415,
    "Content-Encoding not supported",
    {
      details: "x is not one of: gzip, br",
      headers: [["Accept-Encoding", "gzip, br"]],
    },
  ],
  [errors.urlTooLong(100, 101), "131", 414, "URL too long", {
    details: "Path and query string have 101 bytes; at most 100 are accepted",
  }],
  [errors.headersTooLarge(100, 101), "132", 431, "Request headers too large", {
    details: "The header has 101 bytes; at most 100 are accepted",
  }],
  [errors.bodyTooSlow(), "133", 408, "Request body was not received in time"],
  [errors.requestTimeout(), "134", 504, "Request was not answered in time"],
  [errors.tooManyRequests(), "135", 503, "Too many requests at the same time", {
    headers: [["Retry-After", "1"]],
  }],
  [errors.queueOverloaded(3), "135", 503, "Too many requests at the same time", {
    headers: [["Retry-After", "3"]],
  }],
  [errors.spoolFull(), "135", 503, "Too many requests at the same time", {
    details: "The temporary files of long bodies have no room for this one",
    headers: [["Retry-After", "5"]],
  }],
  [errors.undecodableBody("br"), "139", 400, "Request body cannot be decoded", {
    details: "The body is not complete data of the coding br",
  }],
  [errors.bodyTooLarge(1000, null), "130", 413, "Request body too large", {
    details: "At most 1000 bytes are accepted",
  }],
  [errors.bodyTooLarge(1000, 2000), "130", 413, "Request body too large", {
    details: "The body has 2000 bytes; at most 1000 are accepted",
  }],
  [errors.foreignOrigin(), "192", 403, "Origin not allowed", {
    hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
  }],
  [errors.roleNotListed(), "193", 403, "The role may not use this endpoint"],
  [errors.foreignSite("Host"), "191", 403, "The Host header names another server", {
    hint: "Call http://127.0.0.1:3000, or set server-host",
  }],
  [errors.foreignSite("Origin"), "191", 403, "The request comes from another site", {
    hint: "Set server-cors-allowed-origins to the origin of the site",
  }],
  [
    errors.noRelationship(missing),
    "200",
    400,
    "Could not find a relationship between 'a' and 'b' in the schema cache",
    {
      details: "Searched for a foreign key relationship between 'a' and 'b' in the schema 'api', " +
        "but no matches were found.",
    },
  ],
  [
    errors.noRelationship({
      ...missing,
      requestHint: "x",
      suggestion: "Perhaps you meant 'c' instead of 'b'.",
    }),
    "200",
    400,
    "Could not find a relationship between 'a' and 'b' in the schema cache",
    {
      details: "Searched for a foreign key relationship between 'a' and 'b' using the hint 'x' " +
        "in the schema 'api', but no matches were found.",
      hint: "Perhaps you meant 'c' instead of 'b'.",
    },
  ],
  [
    errors.ambiguousRelationship({ parent: "sites", child: "big_projects", candidates }),
    "201",
    300,
    "Could not embed because more than one relationship was found for 'sites' and 'big_projects'",
    {
      details: candidates.map(({ suggestion: _, ...details }) => details),
      hint: "Try changing 'big_projects' to one of the following: 'big_projects!main_project', " +
        "'big_projects!jobs'. Find the desired relationship in the 'details' key.",
    },
  ],
  [
    errors.unmatchableRows(["id"], "d"),
    "145",
    400,
    "Rows cannot be matched by 'id'",
    { details: "d" },
  ],
  [errors.invalidBatch("/a", "expected b"), "140", 400, "Invalid batch document", {
    details: "/a: expected b",
  }],
  [errors.batchTooLarge("operations", 2, 3), "141", 413, "Batch is too large", {
    details: "3 operations, at most 2",
  }],
  [errors.batchTooLarge("document", 2), "141", 413, "Batch is too large", {
    details: "The document has more than 2 bytes",
  }],
  [errors.batchTooLarge("results", 2), "141", 413, "Batch is too large", {
    details: "The results have more than 2 bytes",
    hint: "Use Prefer: return=minimal, or limit the rows",
  }],
  [errors.invalidReference("/a", "r"), "142", 400, "Invalid reference '/a'", { details: "r" }],
  [
    errors.referenceWithoutValue("a#/b", 0),
    "143",
    409,
    "Reference 'a#/b' finds no single value",
    { details: "The result has 0 rows" },
  ],
  [errors.batchTimeout(10), "144", 504, "Batch took longer than 10 s"],
  [errors.unmatchedRows(2, "k"), "146", 404, "2 rows were not found", { details: "k" }],
  [
    errors.notInColumns(["a", "b"]),
    "108",
    400,
    "'a.b' is not a nested item of this request",
    { hint: "Verify that it is included in the 'columns' query parameter." },
  ],
  [errors.notNestable(["a", "b"], "d"), "147", 400, "Cannot write 'a.b' nested", { details: "d" }],
  [
    errors.rowsNotAssigned("a.b", "2", "1"),
    "148",
    409,
    "Rows of 'a.b' cannot be assigned to the body",
    { details: "2 sent, 1 written" },
  ],
  [errors.invalidConflict("d"), "157", 400, "Invalid conflict handling", { details: "d" }],
  [errors.invalidPatch("d"), "149", 400, "Invalid patch document", { details: "d" }],
  [errors.preconditionFailed(), "151", 412, "Precondition failed"],
  [errors.preconditionRequired(), "152", 428, "Precondition required", {
    hint: "Send If-Match with the ETag of a read",
  }],
  [errors.invalidPrecondition("If-Match"), "159", 400, "Invalid If-Match"],
  [errors.invalidIdempotencyKey(), "153", 400, "Invalid Idempotency-Key", {
    hint: "Send 1 to 255 visible ASCII characters, or a quoted string of them",
  }],
  [
    errors.idempotencyKeyReused(),
    "154",
    422,
    "Idempotency-Key was used for a different request",
  ],
  [
    errors.idempotencyKeyInProgress(),
    "155",
    409,
    "A request with this Idempotency-Key is in progress",
    { headers: [["Retry-After", "1"]] },
  ],
  [errors.answerTooLarge(21, 20), "156", 413, "Response is too large to be kept", {
    details: "21 bytes, at most 20",
    hint: "Use Prefer: return=minimal",
  }],
  [errors.patchDoesNotApply("d"), "150", 409, "Patch does not apply", { details: "d" }],
  [
    errors.unfilteredWrite("DELETE"),
    "158",
    400,
    "DELETE requires a WHERE clause",
    { hint: "Add a filter, or the header Prefer: handling=strict, max-affected=<rows>" },
  ],
  [
    errors.onlyForReading("having"),
    "160",
    400,
    "'having' can only be used to read",
  ],
  [
    errors.notGrouped("n"),
    "162",
    400,
    "'n' is neither grouped nor aggregated",
    { hint: "Add it to 'select'" },
  ],
  [errors.distinctDisabled(), "161", 400, "Use of distinct is not allowed"],
  [
    errors.distinctConflict("aggregates"),
    "163",
    400,
    "'distinct' cannot be combined with aggregates",
  ],
  [errors.unknownFunction("f", null), "164", 400, "Function 'f' is not available in URLs"],
  [
    errors.unknownFunction("lowr", "lower"),
    "164",
    400,
    "Function 'lowr' is not available in URLs",
    { hint: "Perhaps you meant 'lower'" },
  ],
  [
    errors.invalidArguments("round", "round([n])"),
    "165",
    400,
    "Invalid arguments of 'round'",
    { details: "Expected round([n])" },
  ],
  [
    errors.severalValues("tools", "price"),
    "174",
    400,
    "'tools' gives more than one value",
    { hint: "Use an aggregate: tools(price.max())" },
  ],
  [errors.missingText("q"), "166", 400, "Parameter '@q' is missing"],
  [errors.invalidCursor(), "168", 400, "Invalid cursor"],
  [
    errors.otherCursor("price.desc,id"),
    "169",
    400,
    "The cursor belongs to another order of rows",
    { details: "Order is: price.desc,id", hint: "Begin with an empty 'after'" },
  ],
  [errors.noKey("tools"), "170", 400, "Rows of 'tools' have no known key", {
    hint: "Declare one: db-relationships or a comment with @primaryKey",
  }],
  [errors.cursorConflict("an offset"), "171", 400, "A cursor cannot be combined with an offset"],
  [
    errors.noOperator("sim", { column: "n", type: null }),
    "167",
    400,
    "'sim' is not available for 'n' of type unknown",
    { hint: "Is the extension installed?" },
  ],
  [
    errors.embeddedSchemaNotExposed("private", ["api", "finance"]),
    "172",
    400,
    "Invalid schema: private",
    { hint: "Only the following schemas are exposed: api, finance" },
  ],
  [
    errors.cannotLeaveOut("c", "tools"),
    "173",
    400,
    "Could not leave out column 'c' of 'tools'",
  ],
  [
    errors.unsupportedQueryType("text/csv", '"application/x-www-form-urlencoded"'),
    "107",
    415,
    "Content-Type not acceptable: text/csv",
    { headers: [["Accept-Query", '"application/x-www-form-urlencoded"']] },
  ],
  [
    errors.unsupportedQueryType(null, '"application/x-www-form-urlencoded"'),
    "107",
    415,
    "Content-Type not acceptable: none",
    { headers: [["Accept-Query", '"application/x-www-form-urlencoded"']] },
  ],
  [
    errors.queryTooLarge(100, 101),
    "176",
    413,
    "The query has more than 100 bytes",
    { details: "The body has 101 bytes" },
  ],
  [errors.queryTooLarge(100, null), "176", 413, "The query has more than 100 bytes"],
  [errors.unreadableQuery(), "178", 400, "The query cannot be read"],
  [
    errors.queryTooComplex(8, "calls in one value"),
    "177",
    400,
    "The query is too complex",
    { details: "More than 8 calls in one value" },
  ],
  [errors.noFunction({ message: "m", details: "d", hint: "h" }), "202", 404, "m", {
    details: "d",
    hint: "h",
  }],
  [
    errors.ambiguousFunction(["api.f(a => integer)", "api.f(a => text)"]),
    "203",
    300,
    "Could not choose the best candidate function between: api.f(a => integer), api.f(a => text)",
    {
      hint: "Try renaming the parameters or the function itself in the database so function " +
        "overloading can be resolved",
    },
  ],
  [
    errors.noColumn("c", "r"),
    "204",
    400,
    "Could not find the 'c' column of 'r' in the schema cache",
  ],
  [
    errors.noRelation({ schema: "api", name: "projxxxx" }, null),
    "205",
    404,
    "Could not find the table 'api.projxxxx' in the schema cache",
  ],
  [
    errors.noRelation({ schema: "api", name: "projecxx" }, { schema: "api", name: "projects" }),
    "205",
    404,
    "Could not find the table 'api.projecxx' in the schema cache",
    { hint: "Perhaps you meant the table 'api.projects'" },
  ],
  [errors.noSecret(), "300", 500, "Server lacks JWT secret"],
  [errors.invalidClaims("JWT expired"), "301", 401, "JWT expired", {
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="JWT expired"',
    ]],
  }],
  [errors.invalidToken('a "b" \\c', "d"), "301", 401, 'a "b" \\c', {
    details: "d",
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="a \\"b\\" \\\\c"',
    ]],
  }],
  [errors.noAnonymousRole(), "302", 401, "Anonymous access is disabled", { headers: challenge }],
  [errors.issuerNotAccepted(), "301", 401, "JWT issuer is not accepted", {
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="JWT issuer is not accepted"',
    ]],
  }],
  [errors.issuerRuleViolated("typ"), "301", 401, "JWT does not satisfy the issuer's rules", {
    details: "typ",
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="JWT does not satisfy the issuer\'s rules"',
    ]],
  }],
  [
    errors.keysUnavailable({ issuer: "https://id.test", retryAfter: 4 }),
    "310",
    503,
    "The keys of the token's issuer are not available",
    { details: "https://id.test", headers: [["Retry-After", "4"]] },
  ],
  [
    errors.revocationsUnavailable(4),
    "310",
    503,
    "The list of revoked tokens is not available",
    { headers: [["Retry-After", "4"]] },
  ],
  [errors.revokedToken(), "301", 401, "JWT was revoked", {
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="JWT was revoked"',
    ]],
  }],
  [errors.crossOriginWrite(), "313", 403, "Cross-origin request refused", {
    hint: "Send the token in the Authorization header",
  }],
  [errors.roleNotAllowed(), "315", 403, "The issuer may not give this role"],
  [errors.unknownTenant(), "316", 404, "No such tenant"],
  [errors.tenantUnavailable(4), "317", 503, "The tenant is not available", {
    headers: [["Retry-After", "4"]],
  }],
  [errors.foreignToken(), "319", 403, "The token is for another tenant"],
  [errors.internal("Internal server error"), "X00", 500, "Internal server error"],
];

Deno.test("errors say what the interface says, row by row", () => {
  for (const [error, code, status, message, others = {}] of rows) {
    const { fields } = error;
    deepStrictEqual(
      {
        code: fields.code,
        own: fields.own,
        status: fields.status,
        message: fields.message,
        details: fields.details ?? null,
        hint: fields.hint ?? null,
        headers: fields.headers ?? null,
        statusText: fields.statusText,
      },
      {
        code,
        own: true,
        status,
        message,
        details: others.details ?? null,
        hint: others.hint ?? null,
        headers: others.headers ?? null,
        statusText: undefined,
      },
    );
    strictEqual(error instanceof ServiceError && error.message, message);
  }
});

Deno.test("errors have every code of the interface, and the rows above every error", () => {
  const statuses = new Map<string, Set<number>>();
  for (const { code, status } of Object.values(errors)) {
    statuses.set(code, (statuses.get(code) ?? new Set()).add(status));
  }
  const found = [...statuses].map(([code, set]) => `${code}:${[...set].sort().join("/")}`).sort();
  deepStrictEqual(found, [
    ...["000:503", "001:503", "002:503", "003:504"],
    ...["100:400", "101:405", "102:400", "103:416", "105:405", "106:406", "107:406/415", "108:400"],
    ...["109:400", "110:400", "111:500", "112:500", "114:400", "115:400", "116:406", "117:405"],
    ...["118:400", "119:400", "120:400", "121:400", "122:400", "123:400", "124:400", "125:404"],
    ...["126:404", "127:400", "128:400"],
    ...[
      "130:413",
      "131:414",
      "132:431",
      "133:408",
      "134:504",
      "135:503",
      "136:429",
      "137:413",
      "138:415",
    ],
    "139:400",
    "140:400",
    "141:413",
    "142:400",
    "143:409",
    "144:504",
    ...[
      "145:400",
      "146:404",
      "147:400",
      "148:409",
      "149:400",
      "150:409",
      "151:412",
      "152:428",
      "153:400",
      "154:422",
      "155:409",
      "156:413",
      "157:400",
      "158:400",
      "159:400",
    ],
    ...[
      "160:400",
      "161:400",
      "162:400",
      "163:400",
      "164:400",
      "165:400",
      "166:400",
      "167:400",
      "168:400",
      "169:400",
      "170:400",
      "171:400",
      "172:400",
      "173:400",
      "174:400",
      "176:413",
      "177:400",
      "178:400",
    ],
    "191:403",
    "192:403",
    "193:403",
    ...["200:400", "201:300", "202:404", "203:300", "204:400", "205:404"],
    ...["300:500", "301:401", "302:401", "310:503", "313:403", "315:403"],
    ...["316:404", "317:503", "319:403"],
    "X00:500",
  ]);
  const withRow = new Set(rows.map(([{ fields }]) => `${fields.code} ${fields.status}`));
  for (const [name, { code, status }] of Object.entries(errors)) {
    strictEqual(withRow.has(`${code} ${status}`), true, name);
  }
});

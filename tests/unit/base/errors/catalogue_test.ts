import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { allErrors } from "../../../../src/process/wings.ts";
import { liveErrors } from "../../../../src/wings/live/live_errors.ts";
import { mcpErrors } from "../../../../src/wings/mcp/mcp_errors.ts";

/** An error that no suite of requests asserts in full, and what it says; null where not given. */
type Row = readonly [
  error: ServiceError,
  code: string,
  status: number,
  message: string,
  others?: { details?: unknown; hint?: string; headers?: unknown; inWords?: string },
];

const rows: readonly Row[] = [
  [errors.acquisitionTimeout(), "003", 504, "Timed out acquiring connection from connection pool."],
  [
    errors.parse({
      what: "filter",
      raw: "x.1",
      column: 3,
      details: "unexpected x expecting y",
      inWords: "a y is missing",
    }),
    "100",
    400,
    '"failed to parse filter (x.1)" (line 1, column 3)',
    { details: "unexpected x expecting y", inWords: "a y is missing" },
  ],
  [errors.bodyTooSlow(), "133", 408, "Request body was not received in time"],
  [mcpErrors.foreignOrigin(), "192", 403, "Origin not allowed", {
    hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
  }],
  [
    errors.unknownOperation("The nearest is list", true),
    "190",
    403,
    "The request is not an operation of its role",
    { details: "The nearest is list" },
  ],
  [errors.foreignSite("Host"), "191", 403, "The Host header names another server", {
    hint: "Call http://127.0.0.1:3000, or set server-host",
  }],
  [errors.foreignSite("Origin"), "191", 403, "The request comes from another site", {
    hint: "Set server-cors-allowed-origins to the origin of the site",
  }],
  [errors.invalidReference("/a", "r"), "142", 400, "Invalid reference '/a'", { details: "r" }],
  [
    errors.referenceWithoutValue("a#/b", 0),
    "143",
    409,
    "Reference 'a#/b' finds no single value",
    { details: "The result has 0 rows" },
  ],
  [errors.invalidPrecondition("If-Match"), "159", 400, "Invalid If-Match"],
  [errors.invalidIdempotencyKey(), "153", 400, "Invalid Idempotency-Key", {
    hint: "Send 1 to 255 visible ASCII characters, or a quoted string of them",
  }],
  [errors.idempotencyKeyReused(), "154", 422, "Idempotency-Key was used for a different request"],
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
  [
    errors.unfilteredWrite("DELETE"),
    "158",
    400,
    "DELETE requires a WHERE clause",
    { hint: "Add a filter, or the header Prefer: handling=strict, max-affected=<rows>" },
  ],
  [errors.cursorConflict("an offset"), "171", 400, "A cursor cannot be combined with an offset"],
  [
    errors.noOperator("sim", { column: "n", type: null }),
    "167",
    400,
    "'sim' is not available for 'n' of type unknown",
    { hint: "Is the extension installed?" },
  ],
  [errors.moreRows(1), "179", 400, "The result has more than 1 row", {
    hint: "Request fewer rows with 'limit', or pages of them",
  }],
  [liveErrors.invalidLiveQuery("a log"), "180", 400, "Invalid live query", {
    details: "a log",
    hint: "Use select and the filters of GET",
  }],
  [
    liveErrors.changesNotRecorded("api.log", "s"),
    "181",
    406,
    "Changes of 'api.log' are not recorded",
    {
      hint: "s",
    },
  ],
  [liveErrors.liveResultTooLarge(2), "182", 413, "The result has more than 2 rows", {
    hint: "Add a filter, or a limit",
  }],
  [liveErrors.noLiveCapacity("live-max-streams is 2", 5), "183", 503, "No live capacity", {
    details: "live-max-streams is 2",
    headers: [["Retry-After", "5"]],
  }],
  [liveErrors.tooManyStreams(2), "184", 429, "Too many streams", {
    details: "At most 2 of one client",
    headers: [["Retry-After", "5"]],
  }],
  [liveErrors.liveUnavailable(), "185", 501, "Live queries are not available here"],
  [liveErrors.unsupportedShape("'x'"), "186", 400, "The shape has no equivalent live query", {
    details: "No support for 'x'",
    hint: liveErrors.unsupportedShape("").fields.hint!,
  }],
  [errors.invalidToken('a "b" \\c', "d"), "301", 401, 'a "b" \\c', {
    details: "d",
    headers: [[
      "WWW-Authenticate",
      'Bearer error="invalid_token", error_description="a \\"b\\" \\\\c"',
    ]],
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

/** Every code of the interface, with its statuses. */
const codes = [
  "000:503 001:503 002:503 003:504 100:400 101:405 102:400 103:416 105:405 106:406",
  "107:406/415 108:400 109:400 110:400 111:500 112:500 114:400 115:400 116:406 117:405",
  "118:400 119:400 120:400 121:400 122:400 123:400 124:400 125:404 126:404 127:400 128:400",
  "130:413 131:414 132:431 133:408 134:504 135:503 136:429 137:413 138:415 139:400 140:400",
  "141:413 142:400 143:409 144:504 145:400 146:404 147:400 148:409 149:400 150:409 151:412",
  "152:428 153:400 154:422 155:409 156:413 157:400 158:400 159:400 160:400 161:400 162:400",
  "163:400 164:400 165:400 166:400 167:400 168:400 169:400 170:400 171:400 172:400 173:400",
  "174:400 176:413 177:400 178:400 179:400 180:400 181:406 182:413 183:503 184:429 185:501 186:400 190:403 191:403 192:403 193:403 195:400 196:400 200:400 201:300",
  "202:404 203:300 204:400 205:404 300:500 301:401 302:401 310:503 313:403 315:403 316:404",
  "317:503 319:403 X00:500",
];

Deno.test("errors have every code of the interface", () => {
  const statuses = new Map<string, Set<number>>();
  for (const { code, status } of Object.values(allErrors)) {
    statuses.set(code, (statuses.get(code) ?? new Set()).add(status));
  }
  const found = [...statuses].map(([code, set]) => `${code}:${[...set].sort().join("/")}`).sort();
  deepStrictEqual(found.join(" "), codes.join(" "));
});

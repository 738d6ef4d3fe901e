import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import {
  errorMembers,
  errorResponse,
  type ErrorResponseOptions,
  toServiceError,
} from "../../../../src/base/errors/error_response.ts";
import {
  DatabaseError,
  type ErrorFields,
  ServiceError,
} from "../../../../src/base/errors/service_error.ts";

const options: ErrorResponseOptions = {
  dialect: svcDialect,
  verbosity: "verbose",
  retryAfter: null,
};
const anonymous = { authenticated: false, dialect: svcDialect };
const json = "application/json; charset=utf-8";

function respond(error: ServiceError, changes: Partial<ErrorResponseOptions> = {}) {
  const { status, statusText, headers, body } = errorResponse(error, { ...options, ...changes });
  const text = body === null ? null : new TextDecoder().decode(body);
  // Whatever the error, the platform takes it.
  new Response(body, {
    status,
    statusText,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  });
  return { status, statusText, headers: Object.fromEntries(headers), count: headers.length, text };
}

function custom(fields: Partial<ErrorFields>): ServiceError {
  return new ServiceError({ code: "C", own: false, status: 400, message: "m", ...fields });
}

Deno.test("errorResponse sends an error of the service", () => {
  deepStrictEqual(respond(errors.noRelation({ schema: "api", name: "projxxxx" }, null)), {
    status: 404,
    statusText: undefined,
    headers: { "Content-Length": "116", "Content-Type": json, "Proxy-Status": "SVC; error=SVC205" },
    count: 3,
    text: '{"code":"SVC205","details":null,"hint":null,' +
      '"message":"Could not find the table \'api.projxxxx\' in the schema cache"}',
  });
});

Deno.test("errorResponse sends challenges", () => {
  deepStrictEqual(
    respond(errors.invalidToken("Empty JWT is sent in Authorization header")).headers,
    {
      "Content-Length": "98",
      "Content-Type": json,
      "Proxy-Status": "SVC; error=SVC301",
      "WWW-Authenticate": 'Bearer error="invalid_token", ' +
        'error_description="Empty JWT is sent in Authorization header"',
    },
  );
  const challenges: [ServiceError, string | undefined][] = [
    [errors.noAnonymousRole(), "Bearer"],
    [errors.noSecret(), undefined],
    [denied(false), "Bearer"],
    [denied(true), undefined],
  ];
  for (const [error, challenge] of challenges) {
    strictEqual(respond(error).headers["WWW-Authenticate"], challenge);
  }
});

function denied(authenticated: boolean): ServiceError {
  const thrown = new DatabaseError({
    sqlstate: "42501",
    message: "permission denied for table authors_only",
    detail: null,
    hint: null,
  });
  return toServiceError(thrown, { authenticated, dialect: svcDialect });
}

Deno.test("errorResponse sends an error of the database with its own code", () => {
  deepStrictEqual(respond(denied(true)), {
    status: 403,
    statusText: undefined,
    headers: { "Content-Length": "96", "Content-Type": json, "Proxy-Status": "SVC; error=42501" },
    count: 3,
    text: '{"code":"42501","details":null,"hint":null,' +
      '"message":"permission denied for table authors_only"}',
  });
});

Deno.test("errorResponse writes compact JSON and leaves what is not ASCII", () => {
  const { text, headers } = respond(custom({ message: 'ž "\\\n\u2028', details: "d", hint: "h" }));
  strictEqual(text, '{"code":"C","details":"d","hint":"h","message":"ž \\"\\\\\\n\u2028"}');
  strictEqual(headers["Content-Length"], String(new TextEncoder().encode(text ?? "").length));
  const relationships = [{ cardinality: "c", embedding: "e", relationship: "r" }];
  strictEqual(
    respond(custom({ details: relationships })).text,
    '{"code":"C","details":[{"cardinality":"c","embedding":"e","relationship":"r"}],' +
      '"hint":null,"message":"m"}',
  );
});

Deno.test("errorResponse leaves details and hint out when it is to be minimal", () => {
  const error = custom({ details: "secret", hint: "secret" });
  const { text, headers } = respond(error, { verbosity: "minimal" });
  strictEqual(text, '{"code":"C","message":"m"}');
  strictEqual(headers["Content-Length"], "26");
});

const address = 'connection to server at "db.internal" (10.0.0.5), port 5432 failed';

/** An error with details about the server, and how each dialect sends its body. */
const serverErrors: readonly (readonly [
  label: string,
  error: ServiceError,
  sentIn: readonly string[],
])[] = [
  ["SVC000", errors.cannotConnect(address), ["pgrst"]],
  ["SVC001", errors.connectionLost(address), ["pgrst"]],
  ["a connection exception", raised("08001"), ["pgrst"]],
  ["a lack of resources", raised("53000"), ["svc", "pgrst"]],
  ["PT503", raised("PT503"), ["svc", "pgrst"]],
];

function raised(sqlstate: string): ServiceError {
  const failure = { sqlstate, message: `m ${address}`, detail: address, hint: `h ${address}` };
  return toServiceError(new DatabaseError(failure), anonymous);
}

for (const [label, error, sentIn] of serverErrors) {
  for (const dialect of [svcDialect, pgrstDialect]) {
    const isSent = sentIn.includes(dialect.name);
    Deno.test(`errorResponse in ${dialect.name} ${isSent ? "sends" : "hides"} details of ${label}`, () => {
      const { status, text } = respond(error, { dialect });
      strictEqual(status, 503);
      strictEqual(JSON.parse(text!).details, isSent ? address : null);
      strictEqual(text!.includes("db.internal"), isSent);
      strictEqual(errorMembers(error, dialect).details, address);
    });
  }
}

/** Failures that name a node of Citus. Others keep status and texts. */
const nodeFailures: readonly (readonly [sqlstate: string, message: string, isHidden: boolean])[] = [
  ["XX000", "failure on connection marked as essential: 127.0.0.1:57602", true],
  ["08006", "connection to the remote node web_anon@worker-1:5432 failed", true],
  [
    "08006",
    "connection to the remote node a@fe80::1:5432 failed with the following error: x\ny",
    true,
  ],
  ["XX000", "failed to execute command on worker node 10.0.0.7:9701", true],
  ["57014", "canceling statement, connection to worker db.internal:5432 lost", true],
  ["55000", "node db.internal:5432 is not active", true],
  ["58030", "failed to COPY to shard 102008 on 10.0.0.7:9701", true],
  ["XX000", 'could not receive file "a" from db-1:5432', true],
  ["08006", "failed to connect to fe80::1:5432", true],
  ["XX000", "cache lookup failed for relation 16384", false],
  ["55000", 'cannot change materialized view "to:1" or relation "a:1"', false],
  ["22P02", 'invalid input syntax for type integer: "node a:80"', false],
  ["P0001", "no node at a:80", false],
];

for (const [sqlstate, message, isHidden] of nodeFailures) {
  for (const dialect of [svcDialect, pgrstDialect]) {
    Deno.test(`errorResponse in ${dialect.name} ${isHidden ? "hides" : "sends"} ${sqlstate} ${message}`, () => {
      const failure = { sqlstate, message, detail: null, hint: isHidden ? message : null };
      const error = toServiceError(new DatabaseError(failure), anonymous);
      const { status, text } = respond(error, { dialect });
      strictEqual(status === 503, isHidden);
      deepStrictEqual(JSON.parse(text!), {
        code: sqlstate,
        details: null,
        hint: null,
        message: isHidden ? "connection exception" : message,
      });
      strictEqual(error.fields.message, message);
    });
  }
}

Deno.test("an error that a function raises may name a node", () => {
  const failure = {
    sqlstate: "XX000",
    message: "node a:80",
    detail: null,
    hint: null,
    subject: { routine: "exec_stmt_raise" },
  };
  const error = toServiceError(new DatabaseError(failure), anonymous);
  strictEqual(JSON.parse(respond(error).text!).message, "node a:80");
});

Deno.test("errorResponse sends Retry-After with every 503 and with no other status", () => {
  const rows: [ServiceError, retryAfter: number | null, expected: string | undefined][] = [
    [errors.noSchemaCache(), 8, "8"],
    [errors.cannotConnect(null), null, "0"],
    [custom({ status: 503 }), 32, "32"],
    [custom({ status: 503, headers: [["retry-after", "120"]] }), 32, undefined],
    [errors.acquisitionTimeout(), 8, undefined],
    [custom({ status: 500 }), 8, undefined],
  ];
  for (const [error, retryAfter, expected] of rows) {
    strictEqual(respond(error, { retryAfter }).headers["Retry-After"], expected);
  }
});

Deno.test("errorResponse lets an error's headers win, except over the framing", () => {
  const error = custom({
    headers: [
      ["content-type", "application/problem+json"],
      ["CONTENT-LENGTH", "5"],
      ["Transfer-Encoding", "chunked"],
      ["Connection", "close"],
      ["X-Left", "0"],
    ],
  });
  deepStrictEqual(respond(error).headers, {
    "Content-Length": "53",
    "Proxy-Status": "SVC; error=C",
    "content-type": "application/problem+json",
    "X-Left": "0",
  });
});

Deno.test("errorResponse sends only codes that Proxy-Status can hold", () => {
  const rows: [code: string, value: string][] = [
    ["123", "SVC; error=123"],
    ["a.b:c/d", "SVC; error=a.b:c/d"],
    ["", 'SVC; error=""'],
    ["a b", 'SVC; error="a b"'],
    ["a, b; c", 'SVC; error="a, b; c"'],
    ['"\\', 'SVC; error="\\"\\\\"'],
    ["a\r\nX: y", 'SVC; error="a??X: y"'],
    ["ž", 'SVC; error="?"'],
    [" ".repeat(1000), `SVC; error="${" ".repeat(256)}"`],
  ];
  for (const [code, value] of rows) {
    strictEqual(respond(custom({ code })).headers["Proxy-Status"], value);
  }
});

Deno.test("errorResponse answers 500 for a status that cannot be sent", () => {
  for (const status of [0, 100, 101, 199, 600, 999, 404.5, NaN]) {
    strictEqual(respond(custom({ status })).status, 500);
  }
});

Deno.test("errorResponse sends no body where the status has none", () => {
  for (const status of [204, 205, 304]) {
    deepStrictEqual(respond(custom({ status })), {
      status,
      statusText: undefined,
      headers: { "Proxy-Status": "SVC; error=C" },
      count: 1,
      text: null,
    });
  }
});

Deno.test("errorResponse sends custom reason phrases", () => {
  strictEqual(respond(custom({ status: 332, statusText: "Own" })).statusText, "Own");
});

Deno.test("toServiceError says nothing of what is thrown by a bug", () => {
  const thrown = [
    new TypeError("postgres://user:password@host"),
    new Error("secret"),
    "postgres://user:password@host",
    null,
    undefined,
    { fields: { code: "1", status: 200, message: "forged" } },
  ];
  for (const value of thrown) {
    deepStrictEqual(respond(toServiceError(value, anonymous)), {
      status: 500,
      statusText: undefined,
      headers: {
        "Content-Length": "78",
        "Content-Type": json,
        "Proxy-Status": "SVC; error=SVCX00",
      },
      count: 3,
      text: '{"code":"SVCX00","details":null,"hint":null,"message":"Internal server error"}',
    });
  }
  const own = errors.noSecret();
  strictEqual(toServiceError(own, anonymous), own);
});

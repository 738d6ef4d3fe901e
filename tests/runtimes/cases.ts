/** What the handler must answer in every runtime: requests and answers as data. @module */
import { answers, type Row } from "../support/handler/rows.ts";

/** One request and its whole answer. */
export interface Case {
  /** `GET /orders?id=eq.1` */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  /** Compared as JSON where the `Content-Type` says JSON, else as text; empty is `undefined`. */
  readonly answer?: unknown;
  /** Headers of the answer; `null` for absent. */
  readonly answerHeaders?: Readonly<Record<string, string | null>>;
  /** Instead of `answer`: the length of the body in bytes. */
  readonly answerLength?: number;
}

/** The secret that the tokens of the suite are signed with. */
export const suiteSecret = "reallyreallyreallyreallyverysafe";

/** The key set by URL of the suite; a key of {@linkcode keyToken} and of no other token. */
export const suiteKeys = {
  keys: [{
    kty: "EC",
    crv: "P-256",
    x: "oyW-uyF2G7hYMHJ7msriampTMx_LL8It0hsO_nDTKvg",
    y: "5KHc9BRnW2X7s1xYPndi1PXCs6ZCygX37z6WQHETr1w",
    kid: "suite",
  }],
};

/** The cookie of the suite that may hold a token. */
export const suiteCookie = "__Host-token";

export const keyToken =
  "eyJhbGciOiJFUzI1NiIsImtpZCI6InN1aXRlIn0.eyJyb2xlIjoid3JpdGVyIn0.HvyUf1Vc2WVp7dFAP8tNygumqoGLYCkRPIvjLgIYcNxhcrFCLCpi8cM22zB71QJwjHkq-knf-oJ3dJnRacqhHw";
/** The same key signs, but the set has none of this name. */
const otherKeyToken =
  "eyJhbGciOiJFUzI1NiIsImtpZCI6Im90aGVyIn0.eyJyb2xlIjoid3JpdGVyIn0.0WRYbGzNfUcWJTxmXQHQGU1cBd_VEroV8tBUL3cNKjupiW6pMIThGI1sGCx5xX3uLZTmlRFW2Bl8Kl9NR25BbQ";
const writer =
  "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoid3JpdGVyIn0.7lCzPlX2TkOSM60OTdwSqu_7IbV8JZ1A7fMMzBzOZ4o";
const expired =
  "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoid3JpdGVyIiwiZXhwIjoxfQ.Fh61gzrJk1LkMIdHU9OiLJ9y1QRSXZrB2lOjuu5Jzt4";

/** Makes cases of rows of which `as writer` has a token. An error without a body may have any. */
function casesOf(rows: readonly Row[]): readonly Case[] {
  return rows.map(([line, { headers, as, body }, status, answer, answerHeaders]) => ({
    line,
    headers: {
      ...(typeof body === "object" ? { "Content-Type": "application/json" } : {}),
      ...(as === undefined ? {} : { Authorization: writer }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    status,
    ...(answer === undefined ? {} : { answer }),
    answerHeaders: answerHeaders ?? {},
  }));
}

/** In order: later ones see what earlier ones wrote. */
export const cases: readonly Case[] = [
  ...casesOf(answers()`
    // Reads and embeds.
    GET /orders?select=id,total&order=id.desc&limit=2
      200 [{"id":3,"total":7},{"id":2,"total":20}]
      Content-Range: 0-1/*
      Content-Type: application/json; charset=utf-8
    GET /orders?select=id&or=(id.eq.1,total.lt.8)&order=id {Prefer: count=exact}
      200 [{"id":1},{"id":3}]
      Content-Range: 0-1/2
    GET /customers?name=eq.B%C3%B6hm {Accept: application/vnd.svc.object+json}
      200 {"id":2,"name":"Böhm"}
    GET /customers?order=id {Accept: text/csv} | 200 "id,name\n1,Ada\n2,Böhm"
    HEAD /customers
      200
      Content-Range: 0-1/*
    GET /customers?select=name,orders(total)&orders.order=total.desc&order=id
      200 [{"name":"Ada","orders":[{"total":20},{"total":9.5}]},{"name":"Böhm","orders":[{"total":7}]}]
    GET /orders?select=id,customers(name)&id=eq.3 | 200 [{"id":3,"customers":{"name":"Böhm"}}]
    // Parameters in a body.
    QUERY /orders?order=id with "select=id&id=in.(1,3)"
      Content-Type: application/x-www-form-urlencoded
      200 [{"id":1},{"id":3}]
      Location: /orders?id=in.%281%2C3%29&order=id&select=id
    POST /orders/$query {Content-Type: application/x-www-form-urlencoded} with "select=id&id=eq.2"
      200 [{"id":2}]
      Content-Location: /orders?id=eq.2&select=id
    // Calls.
    GET /rpc/add?a=2&b=3 | 200 5
    POST /rpc/add with {"a":2,"b":-3} | 200 -1
    // Tokens and writes.
    POST /customers with {"name":"Eve"}
      401 {"code":"42501","details":null,"hint":null,
        +"message":"permission denied for table customers"}
    POST /customers?select=name as writer with [{"name":"Cleo"},{"name":"Dan 🙂"}]
      Prefer: return=representation
      201 [{"name":"Cleo"},{"name":"Dan 🙂"}]
    PATCH /customers?name=eq.Cleo&select=name as writer with {"name":"Cléo"}
      Prefer: return=representation
      200 [{"name":"Cléo"}]
    PUT /orders?id=eq.4 as writer with {"id":4,"customer_id":2,"total":1} | 204
    DELETE /orders?id=eq.4 as writer | 204
    DELETE /customers?id=gt.2&select=name&order=name {Prefer: return=representation} as writer
      200 [{"name":"Cléo"},{"name":"Dan 🙂"}]
    GET /customers?select=id&order=id | 200 [{"id":1},{"id":2}]
    // Errors.
    POST /orders as writer with {"id":9,"customer_id":99,"total":1}
      409 {"code":"23503","details":"Key (customer_id)=(99) is not present in table \"customers\".",
        +"hint":null,"message":"insert or update on table \"orders\" violates foreign key constraint
        + \"orders_customer_id_fkey\""}
    POST /rpc/refuse | 402 {"code":"PT402","details":null,"hint":"In cash","message":"Pay first"}
    GET /nothing/here
      404
      Proxy-Status: SVC; error=SVC125
    GET /orders?id=lke.1
      400
      Proxy-Status: SVC; error=SVC100
    OPTIONS /orders {Origin: http://shop.test} {Access-Control-Request-Method: GET}
      Access-Control-Request-Headers: Authorization
      200
      Access-Control-Allow-Origin: *
  `),
  {
    line: "GET /customers",
    headers: { Authorization: expired },
    status: 401,
    answer: { code: "SVC301", details: null, hint: null, message: "JWT expired" },
  },
  // keys by URL
  {
    line: "GET /rpc/whoami",
    headers: { Authorization: `Bearer ${keyToken}` },
    status: 200,
    answer: "writer",
  },
  {
    line: "GET /rpc/whoami",
    headers: { Authorization: `Bearer ${otherKeyToken}` },
    status: 401,
    answer: {
      code: "SVC301",
      details: "No suitable key was found to decode the JWT",
      hint: null,
      message: "No suitable key or wrong key type",
    },
  },
  // large bodies: 100,000 rows out, 2 MB in
  { line: "GET /numbers?order=n", status: 200, answerLength: 4_488_893 },
  {
    line: "GET /numbers?order=n",
    headers: { "Accept": "application/x-ndjson" },
    status: 200,
    answerLength: 4_188_895,
  },
  {
    line: "POST /rpc/size",
    headers: { "Content-Type": "application/json" },
    body: `{"content":"${"ü".repeat(1_000_000)}"}`,
    status: 200,
    answer: 1_000_000,
  },
  // an insert of 5 MB, which PostgreSQL gets in pieces
  {
    line: "POST /customers",
    headers: {
      Authorization: writer,
      "Content-Type": "application/x-ndjson",
      Prefer: "count=exact",
    },
    body: Array.from({ length: 5000 }, (_, n) => `{"name":"${`${n} `.padEnd(1000, "é")}"}\n`).join(
      "",
    ),
    status: 201,
    answerHeaders: { "Content-Range": "*/5000" },
  },
  {
    line: "DELETE /customers?id=gt.2",
    headers: { Authorization: writer, Prefer: "count=exact" },
    status: 204,
    answerHeaders: { "Content-Range": "*/5000" },
  },
];

const cookie = { Cookie: `theme=dark; ${suiteCookie}=${keyToken}` };

/** Policies of the suite, where the runner is not in the page. */
export const suiteRateLimits = "limited: 1/1d by ip on /rpc/limited";

/** Header of the suite that identifies requests. */
export const suiteRequestIdHeader = "X-Request-Id";
/** Health path of the suite. */
export const suiteHealthPath = "/-/health";

/** Where requests may have cookies, and the handler has the options of a server. */
export const serverCases: readonly Case[] = [
  ...casesOf(answers()`
    GET /customers?id=eq.1&select=id {X-Request-Id: suite:1}
      200 [{"id":1}]
      X-Request-Id: suite:1
      X-Content-Type-Options: nosniff
    GET /nothing {X-Request-Id: suite:2}
      404
      X-Request-Id: suite:2
      X-Content-Type-Options: nosniff
    GET /-/health
      200
      Cache-Control: no-store
    GET /-/health/live | 200
    POST /-/health
      405
      Allow: GET, HEAD
    GET /rpc/%6Cimited
      404
      RateLimit: "limited";r=0;t=86400
    GET /rpc/limited
      429 {"code":"SVC136","details":"Policy limited allows 1 requests in 86400 seconds",
        +"hint":null,"message":"Too many requests"}
  `),
  {
    line: "GET /rpc/whoami",
    headers: cookie,
    status: 200,
    answer: "writer",
    answerHeaders: {
      "Cache-Control": "private",
      "Vary": "Accept, Prefer, Range, Accept-Encoding, Authorization, Cookie, Origin",
    },
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, "Sec-Fetch-Site": "same-origin" },
    status: 200,
    answer: "writer",
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, "Sec-Fetch-Site": "cross-site" },
    status: 403,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC313" },
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, Origin: "https://evil.test" },
    status: 403,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC313" },
  },
];

/**
 * Hints with `client-error-verbosity = advise`, and that no other value sends them. They do not depend on the
 * language of messages: the fixture chooses German, if the server has it.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type ApiConfig, apiSuite, serviceSuite } from "../support/handler/api.ts";
import type { Engine } from "../support/database/engines.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { linesOf, readRequest } from "../support/handler/rows.ts";
import { signToken } from "../support/handler/token.ts";

const base = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

/** A request, the code of its error, and the hint of `advise`. */
type Row = readonly [line: string, parts: RequestParts, code: string, hint: string | null];

/** Reads rows of `request | code | hint`. */
function advice(table: TemplateStringsArray): readonly Row[] {
  return linesOf(table).map((line) => {
    const [request = "", code = "", hint = null] = line.split(" | ");
    return [...readRequest(request), code, hint];
  });
}

/** Sends each request with every verbosity. Only `advise` sends the hint. */
function adviceSuite(
  title: string,
  config: Partial<ApiConfig>,
  rows: readonly Row[],
  engines: readonly Engine[] = ["pg"],
): void {
  for (const clientErrorVerbosity of ["advise", "verbose"] as const) {
    const full = { ...base, clientErrorVerbosity, ...config };
    const add = clientErrorVerbosity === "advise" ? apiSuite : serviceSuite;
    const suite = add("advice", full, { title: `${title} with ${clientErrorVerbosity}`, engines });
    for (const [line, parts, code, hint] of rows) {
      suite.test(`${line} ${JSON.stringify(parts).slice(0, 80)}`, async (api) => {
        const { message, details, code: sent, hint: given } = await (await api(line, parts)).json();
        strictEqual(typeof message, "string");
        strictEqual(details === undefined, false);
        deepStrictEqual([sent, given], [code, clientErrorVerbosity === "advise" ? hint : null]);
      });
    }
  }
}

const both: readonly Engine[] = ["pg", "pglite"];

adviceSuite("privileges", {}, [
  ...advice`
    GET /film | 42501 | grant select on api.film to anon;
    GET /film?id=eq.1&select=title | 42501 | grant select on api.film to anon;
    GET /titles | 42501 | grant select on api.titles to anon;
    GET /Two%20words | 42501 | grant select on api."Two words" to anon;
    GET /film as writer | 42501 | grant usage on schema api to writer;
    POST /film with {"id":1} | 42501 | grant insert on api.film to anon;
    PUT /film?id=eq.1 with {"id":1,"title":"x"} | 42501 | grant insert, update, select on api.film
      + to anon;
    PATCH /film with {"title":"x"} | 42501 | grant update on api.film to anon;
    PATCH /film?id=eq.1 with {"title":"x"} | 42501 | grant update, select on api.film to anon;
    DELETE /film | 42501 | grant delete on api.film to anon;
    DELETE /film?id=eq.1 | 42501 | grant delete, select on api.film to anon;
    GET /reel?select=id,film(*) | 42501 | grant select on api.reel, api.film
      + to anon;
    POST /numbered with {"title":"x"} | 42501 | grant usage on sequence api.numbered_id_seq to anon;
    POST /rpc/closed | 42501 | Grant anon EXECUTE on the function api.closed, with its argument
      + types if several have the name, USAGE on its schema, and the privileges on what it uses
    POST /rpc/reads_hidden | 42501 | grant usage on schema hidden to anon;
    POST /rpc/reads_film | 42501 | Grant anon the privilege: a function or a trigger of the request
      + uses it
    POST /rpc/refuses | 42501
    POST /secured with {"id":1} | 42501 | A policy on "secured" with check (…) must allow the row; a
      + representation needs a select policy, too.
    POST /film {Prefer: return=representation} with {"id":1} | 42501 | grant insert, select on
      + api.film to anon;
    PATCH /film?id=eq.1&select=title,id {Prefer: return=representation} with {"title":"x"} | 42501 |
      + grant update, select on api.film to anon;
    POST /film {Prefer: resolution=merge-duplicates} with {"id":1} | 42501 | grant insert, update,
      + select on api.film to anon;
    GET /rpc/writes | 25006 | The function writes: call it with POST.
    POST /rpc/calls_writes | 25006 | The function writes: declare it volatile.
    POST /rpc/writes_stable | 0A000 | The function writes: declare it volatile.
  `,
], both);

adviceSuite("values", {}, [
  ...advice`
    GET /measured?small=eq.x | 22P02 | The column small is smallint
    GET /measured?small=eq.1&whole=eq.x&id=gt.0 | 22P02 | The column whole is integer
    GET /measured?small=eq.40000 | 22003 | The column small is smallint
    GET /measured?whole=in.(1,x) | 22P02 | The column whole is integer
    GET /measured?whole=not.eq.1.5 | 22P02 | The column whole is integer
    GET /measured?or=(whole.eq.1,mood.eq.x) | 22P02 | The value of one of these does not fit: whole
      + (integer), mood (api.mood)
    GET /measured?or=(mood.eq.x,note.eq.x) | 22P02 | Write one of: good, bad
    GET /measured?mood=eq.x | 22P02 | Write one of: good, bad
    GET /measured?tags=eq.oak | 22P02 | Write tags=cs.{oak}
    GET /measured?uid=eq.x | 22P02 | The column uid is uuid
    GET /measured?flag=eq.maybe | 22P02 | The column flag is boolean
    GET /measured?flag=is.maybe | SVC100 | Write flag=is.null
    GET /measured?day=eq.never | 22007 | The column day is date
    GET /measured?day=eq.2026-02-30&small=eq.1 | 22008 | The column day is date
    GET /measured?select=id,parts(*)&parts.amount=eq.x | 22P02 | The column parts.amount is integer
    POST /measured with {"code":"abcd","note":"long enough"} | 22001 | The column code is
      + character varying(3)
    POST /measured with {"code":"abcd","fixed":"x","note":"y"} | 22001 | The value of one of these does
      + not fit: code (character varying(3)), fixed (character(2))
    PATCH /measured?id=eq.1 with {"code":"abcd"} | 22001 | The column code is character varying(3)
    POST /measured with {"small":"x","note":"y"} | 22P02 | The column small is smallint
    POST /measured with {"small":"x","whole":1} | 22P02 | The value of one of these does not fit: small
      + (smallint), whole (integer)
    POST /measured with {"mood":"x"} | 22P02 | Write one of: good, bad
    PATCH /measured?id=eq.x with {"small":1} | 22P02 | The column id is integer
    GET /rpc/adds?a=1&b=x | 22P02 | The parameter b is integer
    POST /rpc/adds with {"a":1,"b":"x"} | 22P02 | The value of one of these does not fit: a (integer),
      + b (integer)
    POST /rpc/raises_value with {"a":1} | 22P02
  `,
], both);

adviceSuite("a role that does not exist", {}, [
  [
    "GET /film",
    { as: "no such role" },
    "22023",
    'create role "no such role" nologin; then grant it to the login role',
  ],
], both);

adviceSuite("a role that is not granted", {}, [
  ...advice`
    GET /film as advice_stranger | 42501 | Grant advice_stranger to the login role, unless it is a
      + superuser
  `,
]);

adviceSuite("requests", {}, [
  ...advice`
    GET /reel?id=5 | SVC100 | Write id=eq.5
    GET /reel?id= | SVC100 | Write id=eq.
    GET /reel?film.id=7.5&select=id,film(*) | SVC100 | Write film.id=eq.7.5
    GET /reel?id=in.1,2 | SVC100 | Write id=in.(1,2)
    GET /reel?id=not.in.1,2 | SVC100 | Write id=not.in.(1,2)
    GET /reel?id=equals.5 | SVC100 | Write id=eq.5
    GET /reel?my%20title=ilkie.a* | SVC100 | Write my title=ilike.a*
    GET /reel?id=EQ.5 | SVC100 | Write id=eq.5
    GET /reel?id=is.nul | SVC100 | Write id=is.null
    GET /reel?select=( | SVC100
    GET /reel?select=id.sum() | SVC123 | Set db-aggregates-enabled = true
    POST /reel {Content-Type: application/x-www-form-urlencoded} with "{\"id\": 1}" | SVC204 | The
      + body was read as a form: send Content-Type: application/json
    POST /reel {Content-Type: application/x-www-form-urlencoded} with "nope=1" | SVC204
    GET /reel {Accept: application/vnd.svc.plan+json} | SVC107 | Set db-plan-enabled = true
    GET /reel {Accept: image/png} | SVC107 | Send Accept: application/json
    POST /reel {Content-Type: text/plain} with "{\"id\":1}" | SVC107 | Send Content-Type:
      + application/json
    GET /rpc/reel | SVC202 | Write /reel
    GET /nothing | SVC205
  `,
], both);

const noKey = signToken({ role: "anon" }, "anothersecretanothersecretanothersecret");
const header = btoa('{"alg":"HS256","kid":"other"}').replaceAll("=", "");
const rsa = btoa('{"alg":"RS256"}').replaceAll("=", "");
const bearer = (token: string): RequestParts => ({ headers: { Authorization: `Bearer ${token}` } });
const keys = JSON.stringify({
  keys: [{ kty: "oct", kid: "one", alg: "HS256", k: btoa("reallyreallyreallyreallyverysafe") }],
});

adviceSuite("tokens", {}, [
  ["GET /reel", bearer(await noKey), "SVC301", "The signature does not fit jwt-secret"],
  ["GET /reel", bearer(`"${await noKey}"`), "SVC301", "Send the token without quotes"],
  ["GET /reel", bearer(`${rsa}.e30.e30`), "SVC301", "No key for that alg"],
  ["GET /reel", bearer("x"), "SVC301", "Send a JWT, or list the SHA-256 of the key in api-keys"],
]);

adviceSuite("keys", { jwtSecret: keys.replaceAll("=", "") }, [
  ["GET /reel", bearer(`${header}.e30.e30`), "SVC301", "No key with that kid"],
]);

adviceSuite("no keys", { jwtSecret: null, dbAnonRole: null, openapiMode: "disabled" }, [
  ["GET /reel", bearer("x.y.z"), "SVC300", "jwt-secret is not set"],
  ["GET /reel", {}, "SVC302", "Send a token, or set db-anon-role"],
]);

adviceSuite("no description", { openapiMode: "disabled" }, [
  ["GET /", {}, "SVC126", 'Set openapi-mode = "follow-privileges"'],
]);

// PGlite has no timers of its own.
adviceSuite("timeouts", { dbStatementTimeout: 0.2 }, [
  ...advice`
    POST /rpc/waits | 57014 | If a timeout ended it: alter role anon set statement_timeout, or
      + raise db-statement-timeout
  `,
]);

const made = "If it is new, send the request again";

adviceSuite("a polled schema", { dbSchemaWatch: "poll" }, [
  ["GET /nothing", {}, "SVC205", made],
  ["GET /rpc/nothing", {}, "SVC202", made],
  ["GET /reel?select=zzz(*)", {}, "SVC200", made],
  ["POST /reel", { body: { nothing: 1 } }, "SVC204", made],
  [
    "POST /reel",
    { headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: '{"id":1}' },
    "SVC204",
    "The body was read as a form: send Content-Type: application/json",
  ],
  ["GET /reel?nothing=eq.1", {}, "42703", made],
]);

serviceSuite("advice", { ...base, dbSchemaWatch: "poll", clientErrorVerbosity: "advise" }, {
  title: "a name that resembles another one",
}).test(
  "both sentences are sent",
  async (api) => {
    const { hint } = await (await api("GET /flim")).json();
    strictEqual(hint, `Perhaps you meant the table 'api.film'. ${made}`);
  },
);

adviceSuite("several schemas", { dbSchemas: ["api", "hidden"] }, [
  ...advice`
    GET /log | SVC205 | Perhaps you meant the table 'hidden.log': send Accept-Profile: hidden
    POST /log with {"id":1} | SVC205 | Perhaps you meant the table 'hidden.log': send
      + Content-Profile: hidden
    GET /lgo | SVC205 | Perhaps you meant the table 'hidden.log': send Accept-Profile: hidden
    GET /film {Accept-Profile: hidden} | SVC205 | Perhaps you meant the table 'api.film': send
      + Accept-Profile: api
  `,
]);

serviceSuite("advice", {
  ...base,
  dbSchemas: ["api", "hidden"],
  clientErrorVerbosity: "advise",
}, { title: "a name of another schema that resembles one of this schema" }).test(
  "the hint has the name of the other schema",
  async (api) => {
    const { hint } = await (await api("GET /reels")).json();
    strictEqual(hint, "Perhaps you meant the table 'hidden.reels': send Accept-Profile: hidden");
  },
);

adviceSuite("an embedded database", { dbSchemaWatch: "auto" }, [
  ["GET /nothing", {}, "SVC205", null],
], ["pglite"]);

for (const clientErrorVerbosity of ["advise", "verbose"] as const) {
  const suite = serviceSuite("advice", { ...base, clientErrorVerbosity }, {
    title: `hints of others with ${clientErrorVerbosity}`,
  });
  suite.test("advise replaces no hint", async (api) => {
    const raised = await (await api("POST /rpc/raises", { body: { hint: "my hint" } })).json();
    strictEqual(raised.hint, "my hint");
    const near = await (await api("GET /fil")).json();
    strictEqual(near.hint, "Perhaps you meant the table 'api.film'");
  });
}

const generated = serviceSuite("advice", base, { title: "a generated column" });
generated.test("the hint is for clients, and not SQL", async (api) => {
  const { code, hint } = await (await api("POST /always", { body: { id: 1 } })).json();
  deepStrictEqual([code, hint], [
    "428C9",
    "Leave generated columns out of the body and of 'columns'",
  ]);
});

const minimal = serviceSuite("advice", { ...base, clientErrorVerbosity: "minimal" }, {
  title: "no hints with minimal",
});
minimal.rows("minimal", [
  ["GET /reel?id=5", {}, 400, { code: "SVC100", message: "id lacks an operator" }],
]);

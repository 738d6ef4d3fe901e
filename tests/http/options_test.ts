import { serviceSuite } from "../support/handler/api.ts";
import { type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("options", { dbSchemas: ["api"], dbAnonRole: "anon" });

const all = "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE";
const keyless = "OPTIONS,GET,HEAD,POST,PATCH,DELETE";
const reading = "OPTIONS,GET,HEAD";

const allows = (path: string, Allow: string): Row => [`OPTIONS ${path}`, {}, 200, undefined, {
  Allow,
  "Access-Control-Allow-Origin": "*",
  "Content-Length": "0",
  "Content-Type": null,
  Vary: "Accept, Prefer, Range, Authorization, Origin",
}];

suite.rows("OPTIONS lists what a resource takes", [
  allows("/", reading),
  allows("/keyed", all),
  allows("/keyed?select=nope&id=eq.x", all),
  allows("/keyless", keyless),
  allows("/parted", all),
  allows("/keyed_view", all),
  allows("/part_view", keyless),
  allows("/counted", reading),
  allows("/stored", reading),
  allows("/inserts", `${reading},POST`),
  allows("/updates", `${reading},PATCH`),
  allows("/deletes", `${reading},DELETE`),
  allows("/both_ways", `${reading},POST,PUT,PATCH`),
  allows("/rpc/changing", "OPTIONS,POST"),
  allows("/rpc/reading", "OPTIONS,GET,HEAD,POST"),
  allows("/rpc/fixed", "OPTIONS,GET,HEAD,POST"),
  // The overload that no arguments mean, else all of them.
  allows("/rpc/either", "OPTIONS,POST"),
  allows("/rpc/needing", "OPTIONS,GET,HEAD,POST"),
  ["OPTIONS /keyed", { headers: { Accept: "a/b" } }, 200, undefined, { Allow: all }],
]);

const error = (code: string, message: string, more: object = {}) => ({
  code,
  message,
  details: null,
  hint: null,
  ...more,
});

suite.answers("OPTIONS refuses what other methods refuse")`
  OPTIONS /rpc/readin
    404 SVC202 | Could not find the function api.readin without parameters in the schema cache | Searched for the function api.readin without parameters, but no matches were found in the schema cache. | Perhaps you meant to call the function api.reading
  OPTIONS /rpc/unclear | 300 SVC203 | Could not choose the best candidate function between: api.unclear(), api.unclear(a => integer) |  | Try renaming the parameters or the function itself in the database so function overloading can be resolved
  OPTIONS /rpc/fixed?a=1 | 400 SVC100 | a lacks an operator | "failed to parse filter (1)" (line 1, column 1): unexpected "1" expecting "not" or operator (eq, gt, ...)
  OPTIONS /rpc/reading?nope.id=eq.1 | 400 SVC108 | 'nope' is not an embedded resource in this request |  | Verify that 'nope' is included in the 'select' query parameter.
  OPTIONS /rpc/reading {Accept: a/b} | 406 SVC107 | None of these media types are available: a/b
  OPTIONS /rpc/reading {Prefer: handling=strict, x}
    400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: x
  OPTIONS /keyed?order=a.b.c | 400 SVC100 | order takes asc, desc, nullsfirst and nullslast | "failed to parse order (a.b.c)" (line 1, column 3): unexpected "b" expecting "asc", "desc", "nullsfirst" or "nullslast"
  OPTIONS /keyed {Accept-Profile: no}
    406 SVC106 | Invalid schema: no |  | Only the following schemas are exposed: api
`;

const closed = serviceSuite("options", { dbSchemas: ["api"] }, {
  title: "options without anonymous role",
});
closed.rows("OPTIONS is authenticated", [
  ["OPTIONS /keyed", {}, 401, error("SVC302", "Anonymous access is disabled")],
  ["OPTIONS /keyed", { as: "anon" }, 200, undefined, { Allow: all }],
]);

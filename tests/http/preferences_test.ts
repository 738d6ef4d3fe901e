import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type ApiConfig, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";

const base: ApiConfig = { dbSchemas: ["api"], dbAnonRole: "anon" };
const suite = serviceSuite("preferences", { ...base, dbTxEnd: "rollback-allow-override" });

const prefer = (Prefer: string, more: object = {}) => ({ headers: { Prefer }, ...more });
const applied = (text: string | null) => ({ "Preference-Applied": text });

/** Everything that is a preference, in an order of its own. */
const everything =
  "max-affected=9, timezone=UTC, handling=strict, tx=rollback, count=exact, return=minimal, missing=default, resolution=merge-duplicates";
const common = "count=exact, tx=rollback, handling=strict, timezone=UTC";

suite.rows("Preference-Applied", [
  ["GET /stamps?id=eq.9", prefer(everything), 200, [], applied(common)],
  ["HEAD /stamps", prefer(everything), 200, undefined, applied(common)],
  ...answers({
    headers: {
      Prefer:
        "max-affected=9, timezone=UTC, handling=strict, tx=rollback, count=exact, return=minimal, missing=default, resolution=merge-duplicates",
    },
  })`
    POST /stamps with {"id":5}
      201
      Preference-Applied: resolution=merge-duplicates, missing=default, return=minimal, count=exact,
        + tx=rollback, handling=strict, timezone=UTC
    PATCH /stamps?id=eq.1 with {"note":"x"}
      204
      Preference-Applied: missing=default, return=minimal, count=exact, tx=rollback,
        + handling=strict, timezone=UTC, max-affected=9
    PUT /stamps?id=eq.1 with {"id":1,"note":"x"}
      204
      Preference-Applied: return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC
    DELETE /stamps?id=eq.1
      204
      Preference-Applied: return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC,
        + max-affected=9
  `,
  ["GET /rpc/numbers", prefer(everything), 200, [1, 2, 3], applied(`${common}, max-affected=9`)],
  ["POST /rpc/numbers", prefer(everything), 200, [1, 2, 3], applied(`${common}, max-affected=9`)],
  ...answers()`
    POST /stamps?on_conflict=id {Prefer: resolution=ignore-duplicates} with {"id":1}
      201
      Preference-Applied: resolution=ignore-duplicates
  `,
  ["GET /stamps?id=eq.9", prefer("count=exact;x=y"), 200, [], applied(null)],
  ["GET /stamps?id=eq.9", prefer("tx=commit, tx=rollback"), 200, [], applied("tx=commit")],
  ["OPTIONS /stamps", prefer(common), 200, undefined, applied(null)],
  ["OPTIONS /rpc/numbers", prefer(common), 200, undefined, applied(null)],
  ...answers({ headers: { Prefer: "count=exact, tx=rollback, handling=strict, timezone=UTC" } })`
    GET /nothing
      404 SVC205 | Could not find the table 'api.nothing' in the schema cache
      no Preference-Applied
  `,
]);

const invalid = (tokens: string) =>
  errorBody(
    `SVC122 | Invalid preferences given with handling=strict | Invalid preferences: ${tokens}`,
  );
const strict = (text: string, more: object = {}) => prefer(`handling=strict, ${text}`, more);

suite.rows("handling=strict", [
  ["GET /stamps", prefer("b, handling=strict, a, b"), 400, invalid("b, a, b")],
  ["GET /stamps", strict("return=none,"), 400, invalid("return=none, ")],
  ["GET /stamps", strict("Count=exact"), 400, invalid("Count=exact")],
  ["GET /stamps", strict("params=multiple-objects"), 400, invalid("params=multiple-objects")],
  ["HEAD /stamps", strict("anything"), 400, undefined],
  ["PATCH /stamps", strict("x", { body: { note: "x" } }), 400, invalid("x")],
  ["PUT /stamps?id=eq.1", strict("x", { body: { id: 1 } }), 400, invalid("x")],
  ["DELETE /stamps", strict("x"), 400, invalid("x")],
  ["POST /rpc/nothing_back", strict("max-affected=1, x"), 400, invalid("x")],
  ["OPTIONS /rpc/numbers", strict("x"), 400, invalid("x")],
  ["OPTIONS /stamps", strict("x"), 200, undefined],
  ["GET /stamps?id=eq.9", prefer("handling=lenient, handling=strict, x"), 200, []],
]);

suite.answers("which error comes first")`
  POST /rpc/numbers {Prefer: handling=strict, x} {Accept: a/b}
    406 SVC107 | None of these media types are available: a/b
  DELETE /stamps {Prefer: handling=strict, x} {Accept: a/b}
    400 SVC122 | Invalid preferences given with handling=strict | Invalid preferences: x
`;

const stamp = (text: string) => [{ at: text }];
const zone = (name: string, text: string): Row => [
  "GET /stamps?id=eq.1&select=at",
  prefer(`timezone=${name}`),
  200,
  stamp(text),
  applied(`timezone=${name}`),
];
const zoneError = (name: string, message: string, details: string | null = null): Row => [
  "GET /stamps?id=eq.1&select=at",
  prefer(`timezone=${name}`),
  400,
  { code: "22023", details, hint: null, message },
  applied(null),
];
suite.rows("timezone", [
  zone("America/Los_Angeles", "2023-10-18T05:37:59.611-07:00"),
  zone("america/los_angeles", "2023-10-18T05:37:59.611-07:00"),
  zone("UTC", "2023-10-18T12:37:59.611+00:00"),
  zone("-4", "2023-10-18T08:37:59.611-04:00"),
  zone("5.5", "2023-10-18T18:07:59.611+05:30"),
  zone("+05:30", "2023-10-18T07:07:59.611-05:30"),
  zone("-05:30", "2023-10-18T18:07:59.611+05:30"),
  zoneError("Jupiter/Red_Spot", 'invalid value for parameter "TimeZone": "Jupiter/Red_Spot"'),
  zoneError("", 'invalid value for parameter "TimeZone": ""'),
  zoneError(
    "05:30:15",
    'time zone "05:30:15" appears to use leap seconds',
    "PostgreSQL does not support leap seconds.",
  ),
  zoneError(
    "x'; drop table api.stamps; --",
    `invalid value for parameter "TimeZone": "x'; drop table api.stamps; --"`,
  ),
]);

suite.test("lines of the header count as one list", async (api) => {
  const request = new Request("http://localhost/stamps?select=id&order=id&limit=1");
  request.headers.append("Prefer", "handling=strict, count=exact");
  request.headers.append("prefer", "something");
  const response = await api.handler(request);
  strictEqual(response.status, 400);
  deepStrictEqual(await response.json(), invalid("something"));
});

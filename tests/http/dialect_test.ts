import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { blocksOf, readRow, type Row } from "../support/handler/rows.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  serverTraceHeader: "X-Request-Id",
  openapiMode: "disabled",
} as const;

const svc = serviceSuite("dialect", { ...config, dialect: "svc" }, { title: "dialect svc" });
const pgrst = serviceSuite("dialect", { ...config, dialect: "pgrst" }, { title: "dialect pgrst" });

const fail = (state: string, message: string): RequestParts => ({ body: { state, message } });

/** Requests, each with its answers in the dialects svc and pgrst. */
const differences = blocksOf`
  GET /nothing
    404 SVC205 | Could not find the table 'api.nothing' in the schema cache
    Proxy-Status: SVC; error=SVC205
    404 PGRST205 | Could not find the table 'api.nothing' in the schema cache
    Proxy-Status: PostgREST; error=PGRST205
  // The trace header.
  GET /groups?id=eq.1 {X-Request-Id: abc}
    200 [{"id":1,"name":"one"}]
    X-Request-Id: abc
    200 [{"id":1,"name":"one"}]
    X-Request-Id: abc
  POST /rpc/fail with {"state":"40001","message":"deadlock detected"}
    500 40001 | deadlock detected |  | Send the request again
    500 40001 | deadlock detected
  POST /rpc/fail with {"state":"40P01","message":"deadlock detected"}
    500 40P01 | deadlock detected |  | Send the request again
    500 40P01 | deadlock detected
  POST /rpc/fail
    with {"state":"PGRST","message":"{\"code\":\"Q1\",\"message\":\"Quota\"}",
      +"detail":"{\"status\":419,\"headers\":{\"X-Left\":\"0\"}}"}
    419 Q1 | Quota
    X-Left: 0
    Proxy-Status: SVC; error=Q1
    419 Q1 | Quota
    X-Left: 0
    Proxy-Status: PostgREST; error=Q1
  PATCH /items?limit=1&order=id&select=id {Prefer: return=representation} as writer
    with {"name":"x"}
    200 [{"id":1}]
    Content-Range: 0-0/*
    200 [{"id":1},{"id":2},{"id":3}]
    Content-Range: 0-2/*
    no Range-Unit
  // The column of results that are not row types.
  GET /rpc/answer {Accept: text/csv}
    200 "svc_scalar\n42"
    200 "pgrst_scalar\n42"
  GET /rpc/answers?upto=2 {Accept: text/csv}
    200 "svc_scalar\n1\n2"
    200 "pgrst_scalar\n1\n2"
  // NULL, the empty text and the text NULL in CSV; backslashes.
  GET /cells?order=id {Accept: text/csv}
    200 "id,note,data,tags\n1,,,\n2,\"\",\"\\x00ff\",{}\n3,\"NULL\",,\"{\"\"a b\"\",NULL,
      +\"\"NULL\"\"}\"\n4,\"a,NULL,\"\"\\\",,{NULL}\n5,\"line\nNULL\",,{c}"
    200 "id,note,data,tags\n1,,,\n2,\"\",\"\\\\x00ff\",{}\n3,NULL,,\"{\"\"a b\"\",NULL,
      +\"\"NULL\"\"}\"\n4,\"a,NULL,\"\"\\\\\",,{NULL}\n5,\"line\nNULL\",,{c}"
  // The CSV of a table, posted back, is the same rows.
  POST /cells {Content-Type: text/csv} {Accept: text/csv} {Prefer: return=representation}
    as writer
    with "id,note,data,tags\n11,,,\n12,\"\",\"\\x00ff\",{}\n13,\"NULL\",,\"{\"\"a b\"\",NULL,
      +\"\"NULL\"\"}\"\n14,\"a,NULL,\"\"\\\",,{NULL}\n15,\"line\nNULL\",,{c}"
    201 "id,note,data,tags\n11,,,\n12,\"\",\"\\x00ff\",{}\n13,\"NULL\",,\"{\"\"a b\"\",NULL,
      +\"\"NULL\"\"}\"\n14,\"a,NULL,\"\"\\\",,{NULL}\n15,\"line\nNULL\",,{c}"
    400 22P02 | malformed array literal: "" | Array value must start with "{" or dimension
      + information.
  POST /cells?select=id,note {Content-Type: text/csv} {Prefer: return=representation} as writer
    with "id,note\n6,\n7,NULL\n8,\"\"\n9,\"NULL\""
    201 [{"id":6,"note":null},{"id":7,"note":null},{"id":8,"note":""},{"id":9,"note":"NULL"}]
    201 [{"id":6,"note":""},{"id":7,"note":null},{"id":8,"note":""},{"id":9,"note":null}]
  // A line that is one NULL would be empty, and readers skip empty lines.
  GET /cells?select=note&order=id&id=lt.4 {Accept: text/csv}
    200 "note\nNULL\n\"\"\n\"NULL\""
    200 "note\n\n\"\"\nNULL"
  POST /papers?select=raw&columns=id,raw {Content-Type: text/csv} {Accept: text/csv}
    Prefer: return=representation
    as writer
    with "id\n4\n5"
    201 "raw\nNULL\nNULL"
    201 "raw\n\n"
  // The text of JSON in CSV.
  POST /papers {Content-Type: text/csv} {Prefer: return=representation} as writer
    with "id,doc,raw\n1,\"{\"\"a\"\":[1]}\",[2]\n2,null,\"\"\"NULL\"\"\"\n3,NULL,\"\"\"NULL\"\"\"\n"
    201 [{"id":1,"doc":{"a":[1]},"raw":[2]},{"id":2,"doc":null,"raw":"NULL"},{"id":3,"doc":null,
      +"raw":"NULL"}]
    201 [{"id":1,"doc":"{\"a\":[1]}","raw":"[2]"},{"id":2,"doc":"null","raw":"\"NULL\""},{"id":3,
      +"doc":null,"raw":"\"NULL\""}]
  // The text of JSON in a form.
  POST /papers {Content-Type: application/x-www-form-urlencoded} {Prefer: return=representation} as writer
    with "id=6&doc={\"a\":[1]}&raw=null"
    201 [{"id":6,"doc":{"a":[1]},"raw":null}]
    201 [{"id":6,"doc":"{\"a\":[1]}","raw":"null"}]
  POST /papers {Content-Type: application/x-www-form-urlencoded} as writer
    with "id=7&doc={"
    400 22P02 | invalid input syntax for type json | The input string ended unexpectedly.
    201
  GET /rpc/answer {Accept: application/vnd.pgrst.object+json}
    200 42
    200 42
  GET /rpc/answers?upto=1 {Accept: application/vnd.pgrst.object+json}
    200 {"svc_scalar":1}
    200 {"pgrst_scalar":1}
  GET /rpc/answers?upto=3&svc_scalar=gt.1&order=svc_scalar.desc
    200 [3,2]
    400 42703 | column answers.svc_scalar does not exist
  GET /rpc/answers?upto=3&pgrst_scalar=gt.1&select=pgrst_scalar&order=pgrst_scalar.desc
    400 42703 | column answers.pgrst_scalar does not exist
    200 [3,2]
  // An empty 'select' of a write.
  POST /items?select= {Prefer: return=representation} as writer with {"id":9,"name":"x"}
    201 [{"id":9,"name":"x","group_id":null}]
    201 [{"id":9}]
  PATCH /items?select=&id=eq.2 {Prefer: return=representation} as writer with {"name":"x"}
    200 [{"id":2,"name":"x","group_id":1}]
    200 [{"id":2}]
  PUT /items?select=&id=eq.2 {Prefer: return=representation} as writer with {"id":2,"name":"x"}
    200 [{"id":2,"name":"x","group_id":1}]
    200 [{"id":2}]
  DELETE /items?select=&id=eq.2 {Prefer: return=representation} as writer
    200 [{"id":2,"name":"b","group_id":1}]
    200 [{"id":2}]
  POST /stays?select= {Prefer: return=representation} as writer with {"guest":1,"room":2}
    201 [{"room":2,"guest":1,"note":null}]
    201 [{"guest":1,"room":2}]
  POST /stays?select= {Prefer: return=representation} {Accept: text/csv} as writer
    with {"guest":1,"room":2}
    201 "room,guest,note\n2,1,"
    201 "guest,room\n1,2"
  POST /notes?select= {Prefer: return=representation} as writer with {"note":"n"}
    201 [{"note":"n"}]
    201 [{"note":"n"}]
  POST /notes?select {Prefer: return=representation} as writer with {"note":"n"}
    400 SVC196 | Parameter 'select' cannot be applied | It has no value | To filter a column of this name, write "select"=eq.<value>
    201 [{"note":"n"}]
  GET /groups?select=&id=eq.1
    200 [{"id":1,"name":"one"}]
    200 [{"id":1,"name":"one"}]
  POST /stays?select= {Prefer: return=headers-only} as writer with {"guest":1,"room":2}
    201
    Location: /stays?room=eq.2&guest=eq.1
    201
    Location: /stays?guest=eq.1&room=eq.2
  // What both have in place of a quirk.
  POST /moments {Prefer: return=headers-only} as writer with {"at":"2024-01-02T03:04:05Z"}
    201
    Location: /moments?at=eq.2024-01-02%2003%3A04%3A05%2B00
    201
    Location: /moments?at=eq.2024-01-02%2003%3A04%3A05%2B00
  GET /groups?select=,id
    400 SVC100 | a name is missing before ,id | "failed to parse select parameter (,id)" (line 1,
      + column 1): unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"
    400 PGRST100 | "failed to parse select parameter (,id)" (line 1, column 1) | unexpected ","
      + expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"
`;

for (const text of differences) {
  const lines = text.split("\n");
  const [ours, theirs] = lines.flatMap((line, at) => /^\d{3}\b/.test(line) ? [at] : []);
  svc.rows("as required", [readRow(lines.slice(0, theirs).join("\n"))]);
  const others = [...lines.slice(0, ours), ...lines.slice(theirs)];
  pgrst.rows("as PostgREST does", [readRow(others.join("\n"))]);
}

const one = { id: 1, name: "one" };
const answered = (headers: Record<string, string | null>): readonly Row[] => [
  ["GET /groups?id=eq.1", {}, 200, [one], { "Content-Range": "0-0/*", ...headers }],
];
// A request without the trace header.
svc.rows("as required", answered({ "X-Request-Id": null, "Range-Unit": "items" }));
pgrst.rows("as PostgREST does", answered({ "X-Request-Id": "", "Range-Unit": null }));

/** In every dialect the media types of the other one are understood, and answered as they were sent. */
const media: readonly Row[] = ["svc", "pgrst"].flatMap((vendor): Row[] => [
  [
    "GET /groups?id=eq.1",
    { headers: { Accept: `application/vnd.${vendor}.object+json` } },
    200,
    one,
    { "Content-Type": `application/vnd.${vendor}.object+json; charset=utf-8` },
  ],
  [
    "GET /items?id=eq.3",
    { headers: { Accept: `application/vnd.${vendor}.array+json;nulls=stripped` } },
    200,
    [{ id: 3, name: "c" }],
    { "Content-Type": `application/vnd.${vendor}.array+json;nulls=stripped; charset=utf-8` },
  ],
]);

for (const suite of [svc, pgrst]) suite.rows("vendor types of both", media);

for (const [suite, product] of [[svc, "svc"], [pgrst, "postgrest"]] as const) {
  suite.test("Server names the product", async (api) => {
    const response = await api("GET /groups");
    strictEqual(response.headers.get("Server")?.split("/")[0], product);
  });
}

for (const [dialect, logged] of [["svc", ["SVC112", "53100"]], ["pgrst", ["53100"]]] as const) {
  const events: Observation[] = [];
  const observed = serviceSuite(
    "dialect",
    { ...config, dialect, observe: (event) => void events.push(event) },
    { title: `log, ${dialect}` },
  );
  observed.test("the log shows failures beside the request", async (api) => {
    strictEqual((await api("GET /rpc/bad_status")).status, 500);
    strictEqual((await api("POST /rpc/fail", fail("53100", "disk full"))).status, 503);
    strictEqual((await api("POST /rpc/fail", fail("PT400", "no"))).status, 400);
    const codes = events.flatMap((event) =>
      event.kind === "request-failed" ? [event.error.code] : []
    );
    deepStrictEqual(codes, logged);
  });
}

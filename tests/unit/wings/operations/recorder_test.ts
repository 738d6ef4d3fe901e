import { strictEqual } from "node:assert/strict";
import { wingOptions } from "../../../../src/process/wings.ts";
import { splitUrl } from "../../../../src/api/request/raw_request.ts";
import type { Snapshot } from "../../../../src/state/app_state/snapshot.ts";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { OperationRecorder } from "../../../../src/wings/operations/recorder.ts";

const config = loadConfig({
  wingOptions,
  file: { path: "t", text: 'db-uri = "postgres://"\ndb-schemas = "api, v2"' },
  environment: {},
  readFile: () => new Uint8Array(),
});
const rootFunction = { dbRootSpec: { schema: "api", name: "root" } };
const snapshot = { config, cache: { data: { mediaHandlers: [] } } } as unknown as Snapshot;

/** Records lines of `role method target [header: value]`, and returns the file. */
function record(text: string, lines: readonly string[]): string {
  const recorder = new OperationRecorder(text, () => {});
  for (const line of lines) {
    const [role = "", method = "", target = "", ...header] = line.split(" ");
    const [name = "", value = ""] = header.join(" ").split(": ");
    const headers = name === "" ? {} : { [name]: value };
    const raw = { method, ...splitUrl(`http://h${target}`), headers, cookies: {} };
    recorder.add({ raw, role, payload: null }, snapshot);
  }
  return recorder.text;
}

const rows:
  readonly (readonly [label: string, before: string, lines: readonly string[], added: string])[] = [
    [
      "names are made of path and filters",
      "",
      [
        "anon GET /orders?id=eq.1",
        "anon GET /orders?id=in.(1,2)&note=not.is.null",
        "anon GET /orders?order=id.desc",
        "anon DELETE /orders?id=eq.1",
        "anon GET /rpc/total?order_id=1",
        "anon GET /odd%20name?select=id",
        "anon GET /1st",
        "anon OPTIONS /orders",
        "anon GET /",
      ],
      `orders_by_id  anon  GET  /orders?id=eq.*
orders_by_id_and_note  anon  GET  /orders?id=in.(*)&note=not.is.null
orders  anon  GET  /orders?order=id.desc
delete_orders_by_id  anon  DELETE  /orders?id=eq.*
total  anon  GET  /rpc/total?order_id=*
odd_name  anon  GET  /odd%20name?select=id
_1st  anon  GET  /1st
`,
    ],
    [
      "roles and higher limits are added",
      "",
      [
        "anon GET /a?limit=5",
        "writer HEAD /a?limit=9&offset=3",
        "anon GET /a?limit=2",
        "anon GET /a?limit=2&b=eq.1",
      ],
      `a  anon,writer  GET  /a?limit=..9&offset=..3
a_by_b  anon  GET  /a?b=eq.*&limit=..2
`,
    ],
    [
      "lines of the file stay as they are",
      "mine anon GET /a?limit=..5",
      [
        "anon GET /a?limit=5",
        "anon GET /a?limit=6",
        "writer GET /a?limit=1",
      ],
      `
a  anon,writer  GET  /a?limit=..6
`,
    ],
    [
      "headers are added where they matter",
      "",
      [
        "anon GET /a accept: text/html,*/*;q=0.5",
        "anon GET /a accept: text/csv",
        "anon GET /a accept-profile: api",
        "anon GET /a accept-profile: v2",
        "anon GET /a prefer: count=exact, timezone=UTC, junk",
        "anon GET /a range: 0-4",
        // The file has ASCII only.
        "anon GET /a prefer: handling=strict, é",
      ],
      `a  anon  GET  /a
a_2  anon  GET  /a
    Accept: text/csv
a_3  anon  GET  /a
    Accept-Profile: v2
a_4  anon  GET  /a
    Prefer: count=exact, timezone=UTC, junk
a_5  anon  GET  /a?limit=..5
`,
    ],
    [
      "operands of groups become values",
      "",
      [
        'anon GET /a?or=(b.eq.1,c.in.("x,)",y),and(d.not.like.%22p%5C%22,q%22,e.is.null))&r.and=(f.gt(col).g)',
        "anon GET /a?b=like(any).{x*,y}&c=fts(english).z&d=eq(col).e",
        "anon GET /a?having=(n.gt.1)&select=n:count()",
        "anon GET /a?after=x&@t=1&s=eq.%2A%26%3D",
      ],
      `a  anon  GET  /a?or=(b.eq.*,c.in.(*),and(d.not.like.*,e.is.null))&r.and=(f.gt(col).g)
a_by_b_and_c_and_d  anon  GET  /a?b=like(any).*&c=fts(english).*&d=eq(col).e
a_2  anon  GET  /a?having=(n.gt.*)&select=n:count()
a_by_s  anon  GET  /a?after=*&@t=*&s=eq.*
`,
    ],
  ];

for (const [label, before, lines, added] of rows) {
  Deno.test(`OperationRecorder: ${label}`, () => {
    strictEqual(record(before, lines), before + added);
    strictEqual(record(before + added, lines), before + added);
  });
}

Deno.test("OperationRecorder records the function that answers /", () => {
  const own = { ...snapshot, config: { ...config, ...rootFunction } } as unknown as Snapshot;
  const recorder = new OperationRecorder("", () => {});
  const raw = { method: "GET", ...splitUrl("http://h/"), headers: {}, cookies: {} };
  recorder.add({ raw, role: "anon", payload: null }, own);
  strictEqual(recorder.text, "_  anon  GET  /\n");
});

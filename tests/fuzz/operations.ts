/** Properties of operations: a request that is planned otherwise than its operation is refused. The
 * plan decides, and not the comparison of forms. @module */
import { ok, strictEqual } from "node:assert/strict";
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import type { Exchange } from "../../src/api/handler/exchange.ts";
import { readQueryShape } from "../../src/api/handler/plan_cache/query_shape.ts";
import { plan } from "../../src/api/plan/plan.ts";
import { decodeBody } from "../../src/api/request/body/body.ts";
import type { Payload } from "../../src/api/request/body/body_decoder.ts";
import { parseHead } from "../../src/api/request/parse_request.ts";
import { decodeQueryText } from "../../src/api/request/url/query_string.ts";
import { type RawRequest, splitUrl } from "../../src/api/request/raw_request.ts";
import { accessOf, queryOf } from "../../src/api/transaction/data_plan.ts";
import { wingOptions } from "../../src/process/wings.ts";
import type { Snapshot } from "../../src/state/app_state/snapshot.ts";
import { loadConfig } from "../../src/state/config/load.ts";
import type { SchemaCache } from "../../src/state/schema_cache/schema_cache.ts";
import { OperationGuard } from "../../src/wings/operations/guard.ts";
import { parseOperations } from "../../src/wings/operations/operation_file.ts";
import { OperationRecorder } from "../../src/wings/operations/recorder.ts";
import { load } from "../support/database/schema_cache.ts";
import { altered, type FuzzTarget, fuzzTarget, unlessRefused } from "./fuzz_target.ts";

/** A request of a client. */
interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const json = { "content-type": "application/json" };
const csv = { "content-type": "text/csv" };
const form = { "content-type": "application/x-www-form-urlencoded" };

function read(target: string, headers: SentRequest["headers"] = {}): SentRequest {
  return { method: "GET", target, headers, body: null };
}

/** Recorded requests, in the spelling of clients. */
const recorded: readonly SentRequest[] = [
  read("/products?select=id,name,price&category_id=eq.6&order=id&limit=50"),
  read(
    "/products?select=*&price=gte.5&price=lt.20&order=price.desc.nullslast,id&limit=20&offset=40",
  ),
  read('/products?or=(id.eq.1,name.in.("a,b",c),and(price.gt.5,tags.not.cs.{a,b},name.like.x*))'),
  read(
    "/products?select=id,n:details->size->>width::int,categories!inner(name),suppliers(*,countries(name))&categories.name=eq.Chairs&suppliers.limit=3",
  ),
  read("/products?select=category_id,price.avg(),count()&having=(count().gt.3)&order=category_id"),
  read("/products?distinct=category_id&order=category_id,price&select=category_id,name"),
  read("/products?select=id&name=fts(english).oak&id=in.(1,2,3)&sku=isdistinct.x"),
  read("/products?select=id,name&limit=5", { accept: "text/csv" }),
  read("/products?select=id,name&limit=5", { prefer: "count=exact" }),
  read("/products?select=id&id=eq.1", { accept: "application/vnd.svc.object+json" }),
  read("/branches", { range: "0-9" }),
  read(
    "/orders?select=id,status,lines(quantity,products(name))&lines.order=quantity&lines.limit=2&order=id.desc&limit=20",
  ),
  read("/orders?select=id,customers(name)&customers=not.is.null&number=like(any).{a*,b*}"),
  read("/rpc/search?words=oak&select=name,price&price=gt.5&order=price&limit=10"),
  read("/rpc/search?words=oak&distinct=category_id&select=name,category_id"),
  read("/rpc/sales?since=2025-01-01&order=month&limit=5"),
  { method: "POST", target: "/rpc/search", headers: json, body: '{"words":"oak"}' },
  { method: "POST", target: "/rpc/pay", headers: form, body: "order_id=4" },
  {
    method: "POST",
    target: "/orders?columns=note,lines(product_id,quantity)&select=id,status",
    headers: { ...json, prefer: "return=representation" },
    body: '{"note":"x","lines":[{"product_id":1,"quantity":2}]}',
  },
  {
    method: "POST",
    target: "/countries?on_conflict=code",
    headers: { ...json, prefer: "resolution=merge-duplicates,return=minimal" },
    body: '[{"code":"XX","name":"x"},{"code":"YY","name":"y"}]',
  },
  { method: "POST", target: "/countries", headers: csv, body: "code,name\nXX,x\n" },
  { method: "PATCH", target: "/orders?id=eq.1&status=eq.new", headers: json, body: '{"note":"x"}' },
  {
    method: "PATCH",
    target: "/jobs?state=eq.new&order=id&limit=1",
    headers: json,
    body: '{"state":"taken","priority":2}',
  },
  {
    method: "PUT",
    target: "/countries?code=eq.XX",
    headers: json,
    body: '{"code":"XX","name":"x"}',
  },
  { method: "DELETE", target: "/lines?order_id=eq.1&product_id=eq.2", headers: {}, body: null },
  {
    method: "PATCH",
    target: "/products?id=eq.1",
    headers: { "content-type": "application/merge-patch+json" },
    body: '{"details":{"a":null,"b":{"c":1}},"name":"x"}',
  },
];

/** Lines that people wrote, with literal values. */
const written = `cancel shop_staff PATCH /orders?id=eq.*&status=eq.new {status="returned", note?}
lists shop_staff GET /orders?select=id&id=in.(*..3)&status=in.(new,*)&limit=5
`;

const writtenExamples: readonly SentRequest[] = [
  {
    method: "PATCH",
    target: "/orders?id=eq.1&status=eq.new",
    headers: json,
    body: '{"status":"returned","note":"x"}',
  },
  read("/orders?select=id&id=in.(1,2)&status=in.(new,paid)&limit=5"),
];

const role = "shop_staff";

/** What the properties need of the example `shop`. */
class Shop {
  readonly snapshot: Snapshot;
  readonly guard: OperationGuard;
  /** Plans by the names of operations. */
  readonly #plans = new Map<string, Set<string>>();
  passed = 0;

  constructor(readonly cache: SchemaCache, file: (snapshot: Snapshot) => string) {
    const config = loadConfig({
      wingOptions,
      file: {
        path: "test.conf",
        text:
          'db-uri = "postgres://"\ndb-schemas = "api"\ndb-aggregates-enabled = true\nserver-query-method = true',
      },
      environment: {},
      readFile: () => new Uint8Array(),
    });
    this.snapshot = { config, cache } as Snapshot;
    this.guard = new OperationGuard(this.snapshot, parseOperations(file(this.snapshot)));
  }

  /** Returns the operation of a request, and its plan; null if the request is refused. */
  async pass(sent: SentRequest): Promise<{ readonly name: string; readonly plan: string } | null> {
    try {
      const { config } = this.snapshot;
      const raw = rawOf(sent);
      const shape = readQueryShape(raw, config);
      const exchange = {
        role,
        identity: { role, authenticated: true },
        admission: null,
        operation: null,
      };
      const head = { raw, shape, isPart: false };
      this.guard.check(exchange as unknown as Exchange, { ...head, payload: null });
      const payload = await payloadOf(raw, sent.body, this.snapshot);
      if (payload !== null) this.guard.check(exchange as unknown as Exchange, { ...head, payload });
      return { name: exchange.operation ?? "none", plan: this.planText(raw, payload) };
    } catch (error) {
      unlessRefused(() => {
        throw error;
      });
      return null;
    }
  }

  async learn(sent: SentRequest): Promise<void> {
    const found = await this.pass(sent);
    ok(found !== null, `a recorded request is refused: ${sent.target}`);
    const known = this.#plans.get(found.name) ?? new Set();
    this.#plans.set(found.name, known.add(found.plan));
  }

  async check(sent: SentRequest): Promise<void> {
    const found = await this.pass(sent);
    if (found === null || found.plan === "options" || found.plan === "root") return;
    this.passed++;
    const plans = this.#plans.get(found.name);
    if (plans?.has(found.plan)) return;
    strictEqual(found.plan, Array.from(plans ?? [])[0], `planned otherwise than ${found.name}`);
  }

  /** Returns the SQL of a request without values and limits, and what else its answer depends on. */
  planText(raw: RawRequest, payload: Payload | null): string {
    const { config } = this.snapshot;
    const sorted = sortedQuery(raw.query);
    const { range: _, ...others } = raw.headers;
    // HEAD is planned as GET, and has no range.
    const head = raw.method === "HEAD" ? { ...raw, method: "GET", headers: others } : raw;
    const { request } = parseHead({ ...head, query: sorted }, config);
    const planned = plan({ ...request, payload }, this.cache, config);
    if (planned.kind === "root" || planned.kind === "options") return planned.kind;
    const { main, estimate, writes = [] } = queryOf(planned);
    const statements = [
      main,
      ...estimate === null ? [] : [estimate],
      ...writes.map((w) => w.statement),
    ];
    const texts = statements.map(({ text }) =>
      text.replaceAll(/ offset \$?\d+/g, "").replaceAll(/ limit \$?\d+/g, " limit")
    );
    const { timezone, maxAffected, invalid: __, ...preferences } = request.preferences;
    const count = "count" in planned ? planned.count.kind : null;
    const { representation: { format, mediaType }, kind } = planned;
    return JSON.stringify([kind, accessOf(planned), texts, format, mediaType.kind, count, {
      ...preferences,
      timezone: timezone !== null,
      maxAffected: maxAffected !== null,
    }]);
  }
}

/** Sorts parameters, whose order has no effect, by name and value. The grammar ignores text after a name. */
function sortedQuery(query: string): string {
  const keyed = query.split(/[&;]/).map((text) => {
    const name = decodeQueryText(text.replace(/=[^]*/, ""));
    return { text, key: (/^[\w. ]+/.exec(name)?.[0] ?? "").trim() + text.slice(text.indexOf("=")) };
  });
  return keyed.sort((one, other) => one.key < other.key ? -1 : Number(one.key > other.key))
    .map(({ text }) => text).join("&");
}

function rawOf({ method, target, headers }: SentRequest): RawRequest {
  return { method, ...splitUrl(`http://localhost${target}`), headers, cookies: {} };
}

async function payloadOf(
  raw: RawRequest,
  body: string | null,
  { config }: Snapshot,
): Promise<Payload | null> {
  const { reader } = parseHead(raw, config);
  return reader === null ? null : await decodeBody(reader, new TextEncoder().encode(body ?? ""));
}

async function recordedFile(snapshot: Snapshot): Promise<string> {
  const recorder = new OperationRecorder(written, () => {});
  for (const sent of recorded) {
    const raw = rawOf(sent);
    const payload = await payloadOf(raw, sent.body, snapshot);
    const { text } = recorder;
    recorder.add({ raw, role, payload }, snapshot);
    ok(recorder.text !== text, `cannot record ${sent.target}`);
  }
  return recorder.text;
}

async function openShop(): Promise<Shop> {
  const database = await PGlite.create();
  const sql = await Deno.readTextFile(new URL("../../examples/shop/shop.sql", import.meta.url));
  await database.exec(sql);
  const query = async (text: string, params?: readonly unknown[]) => ({
    rows: (await database.query<Record<string, unknown>>(text, [...params ?? []])).rows,
  });
  const cache = await load({ query }, { tags: true });
  await database.close();
  const { snapshot } = new Shop(cache, () => "");
  const text = await recordedFile(snapshot);
  const shop = new Shop(cache, () => text);
  for (const sent of [...recorded, ...writtenExamples, ...writtenExamples]) await shop.learn(sent);
  return shop;
}

let opening: Promise<Shop> | null = null;

const words =
  "select= order= limit= offset= eq. neq. gt. in. not. is. and= or= ::int ->> -> !inner !left count() sum() .desc .asc " +
  "name price id note status lines products categories suppliers (*) ( ) , . ; & = ?x= %2f %2F // %00 %26 %3D %2C + %20 * " +
  "words=x since=1 distinct=name distinct=* having=(count().gt.1) any=( (col). (any). columns= on_conflict= having= distinct= after= @x= lock=skip /rpc/ products.limit= 0 1 99999 .. \" 'é";
const tokens = words.split(" ");
const headerValues: Readonly<Record<string, readonly string[]>> = {
  prefer: [
    ...[
      "return=representation",
      "return=minimal",
      "count=exact",
      "tx=rollback",
      "handling=strict",
      "resolution=ignore-duplicates",
    ],
    ...[
      "missing=default",
      "max-affected=1,handling=strict",
      "timezone=UTC",
      "max-rows=fail",
      "junk",
      "count=exact-5",
    ],
  ],
  accept: [
    ...[
      "*/*",
      "text/csv",
      "application/json",
      "application/vnd.svc.object+json",
      "application/vnd.svc.plan",
      "text/html,*/*;q=0.1",
    ],
    ...[
      "application/x-ndjson",
      "application/vnd.svc.array+json;nulls=stripped",
      "",
      "application/geo+json",
    ],
  ],
  range: ["0-4", "5-", "3-1", "0-99999", "abc"],
  "accept-profile": ["api", "app", ""],
  "content-profile": ["api", "app"],
  "content-type": [
    "application/json",
    "text/csv",
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/merge-patch+json",
  ],
};

const header = fc.constantFrom(...Object.keys(headerValues)).chain((name) =>
  fc.tuple(fc.constant(name), fc.constantFrom(...headerValues[name]!))
);
const bodyTokens = [
  ...'{}[],:"ax1',
  ...'null true "note": "status": "id": \\u006e [] {} "returned" "new" 1.0 1e2'.split(" "),
];

function changed<Value>(value: Value, other: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });
}

const sent: fc.Arbitrary<SentRequest> = fc.constantFrom(...recorded, ...writtenExamples).chain((
  base,
) =>
  fc.record({
    method: changed(
      base.method,
      fc.constantFrom("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"),
    ),
    target: changed(base.target, altered(fc.constant(base.target), tokens)),
    headers: changed(
      base.headers,
      fc.array(header, { maxLength: 2 }).map((added) => ({
        ...base.headers,
        ...Object.fromEntries(added),
      })),
    ),
    body: changed(
      base.body,
      base.body === null ? fc.constant(null) : fc.oneof(
        altered(fc.constant(base.body), bodyTokens),
        fc.constantFrom(`[${base.body}]`, `[${base.body},${base.body}]`, "[]", "{}"),
      ),
    ),
  })
);

export const operationTargets: readonly FuzzTarget[] = [
  fuzzTarget({
    name: "operations refuse requests that are planned otherwise",
    runs: 10_000,
    values: sent,
    check: async (value) => {
      const shop = await (opening ??= openShop());
      await shop.check(value);
    },
  }),
];

/** Returns how many requests have passed. */
export async function passedRequests(): Promise<number> {
  return (await opening)?.passed ?? 0;
}

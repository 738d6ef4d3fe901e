/** The requests of published benchmarks, and requests under policies as applications have them. They
 * have no hand-written statements, because the service is compared with a peer only. @module */
import type { User } from "./template.ts";
import type { LoadRequest } from "./wrk.ts";

/** The names of the sets. */
export const knownSets = ["known", "policies"] as const;

/** A set of requests. */
export type KnownSet = typeof knownSets[number];

/** A request by which servers are compared. */
export interface KnownCase {
  /** The benchmark, and the request. */
  readonly name: string;
  readonly request: LoadRequest;
  /** Status of every answer. */
  readonly status: number;
  /** Number of connections in the published benchmark; null for the number in the options. */
  readonly connections: number | null;
}

type CaseRow = readonly [
  name: string,
  line: string,
  status: number,
  more?: Pick<LoadRequest, "headers" | "body">,
];

/** Cases of one benchmark, with the same number of connections. */
interface Group {
  readonly title: string;
  readonly connections: number | null;
  readonly rows: readonly CaseRow[];
}

const rollback = { Prefer: "tx=rollback" } as const;

function rolledBack(value: unknown): CaseRow[3] {
  return { headers: rollback, body: JSON.stringify(value) };
}

const films = Array.from({ length: 146 }, (_, index) => ({
  id: index + 1,
  title: `A film ${index}`,
  year: "1994",
  runtime: "142",
  genres: ["Crime", "Drama"],
  director: "A director",
  actors: "Three actors, with their names",
  plot: "Two people meet over a number of years, and a few more words tell what happens to them.",
  posterUrl: "https://images.example.com/a-long-address-of-an-image.jpg",
}));
const filmColumns = Object.keys(films[0]!).join(",");

/** PostgREST's load test without three requests: wrk cannot read answers to HEAD, and counts errors
 * as failures. */
const loadTest: Group = {
  title: "PostgREST's load test",
  connections: 1,
  rows: [
    ["OpenAPI", "GET /", 200],
    ["embeds", "GET /actors?select=*,roles(*,films(*))", 200],
    ["insert one", "POST /films?columns=id,title", 201, rolledBack({ id: 1, title: "A film" })],
    ["insert 146", `POST /films?columns=${filmColumns}`, 201, rolledBack(films)],
    ["upsert", "PUT /actors?actor=eq.1", 200, {
      headers: { Prefer: "tx=rollback, return=representation" },
      body: '{"actor":1,"name":"Jane Doe"}',
    }],
    ["update", "PATCH /actors?actor=eq.1", 204, rolledBack({ name: "Jane Doe" })],
    ["delete", "DELETE /roles", 204, { headers: rollback }],
    ["call by GET", "GET /rpc/call_me?name=John", 200],
    ["call by POST", "POST /rpc/call_me", 200, { body: '{"name":"John"}' }],
    ["OPTIONS", "OPTIONS /actors", 200],
  ],
};

const employee = {
  first_name: "Virtual",
  last_name: "User",
  title: "Load Tester",
  reports_to: 1,
  birth_date: "1920-01-01",
  hire_date: "2020-01-01",
  address: "666 10 Street SW",
  city: "Calgary",
  country: "Canada",
  email: "user@example.com",
};
const artist = "{1..275}";

const chinook: Group = {
  title: "postgrest-benchmark",
  connections: null,
  rows: [
    ["row", `GET /artist?select=*&artist_id=eq.${artist}`, 200],
    ["row with embeds", `GET /album?select=*,track(*,genre(*))&artist_id=eq.${artist}`, 200],
    ["all with embeds", "GET /album?select=*,track(*,genre(*))", 200],
    [
      "all, embeds filtered",
      "GET /artist?select=*,album(*,track(*))&album.track.composer=eq.Composer%207",
      200,
    ],
    ["function", `GET /rpc/ret_albums?artist_id=eq.${artist}`, 200],
    [
      "function with embeds",
      `GET /rpc/ret_albums?select=album_id,title,artist_id,track(*,genre(*))&artist_id=eq.${artist}`,
      200,
    ],
    ["insert one", "POST /employee", 201, { body: JSON.stringify(employee) }],
    ["insert 20", `POST /employee?columns=${Object.keys(employee).join(",")}`, 201, {
      body: JSON.stringify(Array.from({ length: 20 }, () => employee)),
    }],
    ["update", `PATCH /artist?artist_id=eq.${artist}`, 204, { body: '{"name":"Another name"}' }],
  ],
};

const typed = (records: number) =>
  `GET /rpc/perf_types?_records=${records}&_text=ABC&_date=2024-01-15&_bool=true`;

const functionCalls: Group = {
  title: "pg_function_load_tests",
  connections: null,
  rows: [
    ["minimal", "GET /rpc/perf_minimal", 200],
    ["1 row of 12 types", typed(1), 200],
    ["10 rows", typed(10), 200],
    ["100 rows", typed(100), 200],
    ["500 rows", typed(500), 200],
    ["nested JSON", "GET /rpc/perf_nested?_records=10", 200],
    ["POST", "POST /rpc/perf_post", 200, {
      body: JSON.stringify({ _records: 10, _payload: { test: "value", list: [1, 2, 3] } }),
    }],
  ],
};

const goods = "select=id,name,category,price,quantity,active,tags,rating_score,rating_count";
const range = `GET /goods?${goods}&price=gte.{10..200}&price=lte.{201..400}&limit=20`;
const good = { name: "A new item", category: "category 1", price: 5, quantity: 3 };

const arena: readonly Group[] = [
  { title: "HttpArena, 64 connections", connections: 64, rows: [["async-db", range, 200]] },
  {
    title: "HttpArena, 256 connections",
    connections: 256,
    rows: [
      ["async-db", range, 200],
      ["crud, list", `GET /goods?${goods}&category=eq.category%20{0..19}&order=id&limit=10`, 200],
      ["crud, read", `GET /goods?${goods}&id=eq.{1..100000}`, 200],
      ["crud, create", "POST /goods", 201, { body: JSON.stringify(good) }],
      ["crud, update", "PATCH /goods?id=eq.{1..100000}", 204, { body: '{"quantity":7}' }],
    ],
  },
];

const tpcB: Group = {
  title: "TPC-B",
  connections: null,
  rows: [
    ["account", "POST /rpc/update_account_balance", 204, { body: '{"acc":77,"delta":5}' }],
    ["balance", "GET /accounts?aid=eq.{1..100000}&select=abalance", 200],
    ["teller", "POST /rpc/update_teller_balance", 204, { body: '{"tel":7,"delta":5}' }],
    ["branch", "POST /rpc/update_branch_balance", 204, { body: '{"br":7,"delta":5}' }],
    ["history", "POST /history?columns=tid,bid,aid,delta,mtime,filler", 201, {
      body: '{"tid":7,"bid":7,"aid":77,"delta":5,"mtime":"2026-01-01","filler":""}',
    }],
  ],
};

/** Each request carries the token of a random user. */
const policies: Group = {
  title: "row-level security",
  connections: null,
  rows: [
    ["owner, row by key", "GET /documents?id=eq.{10..59}{user}", 200],
    ["owner, page of 20", "GET /documents?order=id&limit=20", 200],
    ["membership in a subquery", "GET /tasks?order=id&limit=20", 200],
    ["role in a table", "GET /expenses?order=id&limit=20", 200],
    ["claim in JSON", "GET /boards?order=id&limit=20", 200],
    ["three levels of embeds", "GET /boards?select=*,lists(*,cards(*))&order=id&limit=5", 200],
    ["insert by the owner", "POST /entries", 201, {
      headers: { Prefer: "return=representation" },
      body: '{"title":"a note","body":"a few words","stars":3}',
    }],
  ],
};

/** Returns the cases of a set. */
export function knownCasesOf(set: KnownSet, users: readonly User[]): readonly KnownCase[] {
  const groups = set === "policies"
    ? [policies]
    : [loadTest, chinook, functionCalls, ...arena, tpcB];
  return groups.flatMap(({ title, connections, rows }) =>
    rows.map(([name, line, status, more = {}]): KnownCase => ({
      name: `${title}: ${name}`,
      request: { line, ...more, ...(set === "policies" ? { users } : {}) },
      status,
      connections,
    }))
  );
}

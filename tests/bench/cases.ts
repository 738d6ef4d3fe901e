/**
 * What is measured: one case, one entry.
 *
 * @module
 */
import { emptyNotes, freshStock, itemCount, parentCount } from "./fixture.ts";
import type { LoadRequest } from "./wrk.ts";

/** A request under load. */
export interface LoadCase {
  readonly name: string;
  readonly request: LoadRequest;
  /** What every answer has to have. */
  readonly status: number;
  /** SQL that is run before each run. */
  readonly reset?: string;
}

/** The case that is compared with what the database alone allows. */
export const floorCase = "row by key";

const note = { title: "a note", body: "a few words that somebody wrote down", stars: 3 };

const insert = {
  line: "POST /notes",
  headers: { Prefer: "return=minimal" },
} as const;

/** The cases; `tokens` are those of the users. */
export function loadCases(tokens: readonly string[]): readonly LoadCase[] {
  const key = `id=eq.{1..${itemCount}}`;
  return [
    { name: floorCase, request: { line: `GET /items?${key}` }, status: 200 },
    { name: "100 rows", request: { line: "GET /items?limit=100" }, status: 200 },
    {
      name: "filters and order",
      request: {
        line: "GET /items?select=id,name,price&category=eq.{0..49}&price=gt.100" +
          "&or=(id.lt.5000,name.like.*9)&order=price.desc,id&limit=20",
      },
      status: 200,
    },
    {
      name: "two-level embed",
      request: {
        line: "GET /parents?select=id,name,children(id,name,grandchildren(id,name))" +
          `&order=id&limit=10&offset={0..${parentCount - 10}}`,
      },
      status: 200,
    },
    {
      name: "exact count",
      request: { line: "GET /items?limit=10", headers: { Prefer: "count=exact" } },
      status: 206,
    },
    { name: "scalar function", request: { line: "GET /rpc/add?a={1..1000}&b=2" }, status: 200 },
    {
      name: "insert one",
      request: { ...insert, body: JSON.stringify(note) },
      status: 201,
      reset: emptyNotes,
    },
    {
      name: "insert 100",
      request: { ...insert, body: JSON.stringify(Array.from({ length: 100 }, () => note)) },
      status: 201,
      reset: emptyNotes,
    },
    {
      name: "update one",
      request: { line: `PATCH /stock?${key}`, body: '{"amount":1}' },
      status: 204,
      reset: freshStock,
    },
    {
      name: `reads by ${tokens.length.toLocaleString("en-US")} users`,
      request: { line: "GET /items?id=eq.1", tokens },
      status: 200,
    },
  ];
}

/** Requests to tables without policies. @module */
import type { HandWritten, LoadCase } from "./load_case.ts";
import { emptyNotes, freshStock, itemCount, parentCount } from "./fixture.ts";
import type { User } from "./template.ts";

/** A row to insert. */
export const note = {
  title: "a note",
  body: "a few words that somebody wrote down",
  stars: 3,
} as const;

/** The values of {@linkcode note} as parameters. */
export const noteParams = Object.values(note).map(String);

const itemKey = `{1..${itemCount}}`;

/** Reads an item by a key, a parameter. */
export function itemByKey(key: string): HandWritten {
  return {
    text: "select coalesce(json_agg(item), '[]') from items item where id = $1",
    params: [key],
  };
}

/** Reads an item by a random key. */
export const rowByKey = {
  request: { line: `GET /items?id=eq.${itemKey}` },
  status: 200,
  floor: itemByKey(itemKey),
} as const;

/** The ten cases; those with tokens carry the token of a random user. */
export function plainCases(users: readonly User[]): readonly LoadCase[] {
  return [
    { name: "row by key", ...rowByKey },
    ...pages,
    ...counts,
    ...writes,
    {
      name: `reads by ${users.length.toLocaleString("en-US")} users`,
      request: { line: "GET /items?id=eq.1", users },
      status: 200,
      floor: itemByKey("1"),
    },
  ];
}

const firstParents = `{0..${parentCount - 10}}`;

const pages: readonly LoadCase[] = [
  {
    name: "100 rows",
    request: { line: "GET /items?limit=100" },
    status: 200,
    floor: {
      text: `select coalesce(json_agg(item), '[]') from (select * from items limit 100) item`,
      params: [],
    },
  },
  {
    name: "filters and order",
    request: {
      line: "GET /items?select=id,name,price&category=eq.{0..49}&price=gt.100" +
        "&or=(id.lt.5000,name.like.*9)&order=price.desc,id&limit=20",
    },
    status: 200,
    floor: {
      text: `select coalesce(json_agg(item), '[]') from (
        select id, name, price from items
        where category = $1 and price > $2 and (id < $3 or name like $4)
        order by price desc, id limit 20
      ) item`,
      params: ["{0..49}", "100", "5000", "%9"],
    },
  },
  {
    name: "two-level embed",
    request: {
      line: "GET /parents?select=id,name,children(id,name,grandchildren(id,name))" +
        `&order=id&limit=10&offset=${firstParents}`,
    },
    status: 200,
    floor: {
      text: `select coalesce(json_agg(parent), '[]') from (
        select id, name, (
          select coalesce(json_agg(child), '[]') from (
            select id, name, (
              select coalesce(json_agg(grandchild), '[]') from (
                select id, name from grandchildren where child_id = children.id
              ) grandchild
            ) grandchildren
            from children where parent_id = parents.id
          ) child
        ) children
        from (select id, name from parents order by id limit 10 offset $1) parents
      ) parent`,
      params: [firstParents],
    },
  },
];

const counts: readonly LoadCase[] = [
  {
    name: "exact count",
    request: { line: "GET /items?limit=10", headers: { Prefer: "count=exact" } },
    status: 206,
    floor: {
      text: `select coalesce(json_agg(item), '[]'), (select count(*) from items)
        from (select * from items limit 10) item`,
      params: [],
    },
  },
  {
    name: "scalar function",
    request: { line: "GET /rpc/add?a={1..1000}&b=2" },
    status: 200,
    floor: { text: "select add($1, $2)", params: ["{1..1000}", "2"] },
  },
];

const insert = { line: "POST /notes", headers: { Prefer: "return=minimal" } } as const;

const hundredNotes = JSON.stringify(Array.from({ length: 100 }, () => note));

const writes: readonly LoadCase[] = [
  {
    name: "insert one",
    request: { ...insert, body: JSON.stringify(note) },
    status: 201,
    reset: emptyNotes,
    floor: {
      text: "insert into notes (title, body, stars) values ($1, $2, $3)",
      params: noteParams,
    },
  },
  {
    name: "insert 100",
    request: { ...insert, body: hundredNotes },
    status: 201,
    reset: emptyNotes,
    floor: {
      text: `insert into notes (title, body, stars) select title, body, stars
        from json_to_recordset($1) as note (title text, body text, stars int)`,
      params: [hundredNotes],
    },
  },
  {
    name: "update one",
    request: { line: `PATCH /stock?id=eq.${itemKey}`, body: '{"amount":1}' },
    status: 204,
    reset: freshStock,
    floor: { text: "update stock set amount = $1 where id = $2", params: ["1", itemKey] },
  },
];

/** The cases under load by set: requests, and the statements that a person would write for them.
 * @module */
import { emptyNotes, freshStock, itemCount, parentCount } from "./fixture.ts";
import { emptyEntries, freshDrafts } from "./rls_fixture.ts";
import type { User } from "./template.ts";
import type { LoadRequest } from "./wrk.ts";

/** The names of the sets of cases under load. */
export const loadSets = ["plain", "token", "rls"] as const;

/** A set of cases under load. */
export type LoadSet = typeof loadSets[number];

/** A request under load. */
export interface LoadCase {
  readonly name: string;
  readonly request: LoadRequest;
  /** Status of every answer. */
  readonly status: number;
  /** SQL that runs before each run. */
  readonly reset?: string;
  readonly floor: HandWritten;
}

/**
 * The statement that a person would write for a request. Its first column is the body of the
 * answer as JSON. If the statement has no columns, the body is empty.
 */
export interface HandWritten {
  readonly text: string;
  /** Templates with the placeholders of the request. */
  readonly params: readonly string[];
}

/** A row of the tables below. */
type CaseRow = readonly [
  name: string,
  line: string,
  status: number,
  /** The hand-written statement. */
  text: string,
  params?: readonly string[],
  more?: Pick<LoadRequest, "headers" | "body"> & Pick<LoadCase, "reset"> & {
    /** Each request carries the token of a random user. */
    readonly hasToken?: true;
  },
];

/** Returns the cases of a set. In `plain` and `token`, tables have no policies. */
export function casesOf(set: LoadSet, users: readonly User[]): readonly LoadCase[] {
  const rows = { plain: plainRows(users.length), token: tokenRows, rls: rlsRows }[set];
  return rows.map(([name, line, status, text, params = [], more = {}]): LoadCase => {
    const { hasToken = set !== "plain", reset, ...parts } = more;
    return {
      name,
      request: { line, ...parts, ...(hasToken ? { users } : {}) },
      status,
      ...(reset === undefined ? {} : { reset }),
      floor: { text, params },
    };
  });
}

/** Returns a case without policies or under row level security. */
export function caseNamed(name: string, users: readonly User[]): LoadCase {
  return [...casesOf("plain", users), ...casesOf("rls", users)].find((each) => each.name === name)!;
}

/** A row to insert. */
export const note = {
  title: "a note",
  body: "a few words that somebody wrote down",
  stars: 3,
} as const;

/** The values of {@linkcode note} as parameters. */
const noteParams = Object.values(note).map(String);

const itemKey = `{1..${itemCount}}`;
const byKey = "select coalesce(json_agg(item), '[]') from items item where id = $1";

/** Reads an item by a random key. */
export const rowByKey: { readonly request: LoadRequest } = {
  request: { line: `GET /items?id=eq.${itemKey}` },
};

const firstParents = `{0..${parentCount - 10}}`;
const hundredNotes = JSON.stringify(Array.from({ length: 100 }, () => note));
const minimal = { Prefer: "return=minimal" } as const;
const representation = { Prefer: "return=representation" } as const;

const plainRows = (userCount: number): readonly CaseRow[] => [
  ["row by key", rowByKey.request.line, 200, byKey, [itemKey]],
  [
    "100 rows",
    "GET /items?limit=100",
    200,
    "select coalesce(json_agg(item), '[]') from (select * from items limit 100) item",
  ],
  [
    "filters and order",
    "GET /items?select=id,name,price&category=eq.{0..49}&price=gt.100" +
    "&or=(id.lt.5000,name.like.*9)&order=price.desc,id&limit=20",
    200,
    `select coalesce(json_agg(item), '[]') from (
      select id, name, price from items
      where category = $1 and price > $2 and (id < $3 or name like $4)
      order by price desc, id limit 20
    ) item`,
    ["{0..49}", "100", "5000", "%9"],
  ],
  [
    "two-level embed",
    "GET /parents?select=id,name,children(id,name,grandchildren(id,name))" +
    `&order=id&limit=10&offset=${firstParents}`,
    200,
    `select coalesce(json_agg(parent), '[]') from (
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
    [firstParents],
  ],
  [
    "exact count",
    "GET /items?limit=10",
    206,
    `select coalesce(json_agg(item), '[]'), (select count(*) from items)
      from (select * from items limit 10) item`,
    [],
    { headers: { Prefer: "count=exact" } },
  ],
  [
    "scalar function",
    "GET /rpc/add?a={1..1000}&b=2",
    200,
    "select add($1, $2)",
    ["{1..1000}", "2"],
  ],
  ["call by POST", "POST /rpc/tick", 200, "select tick()", [], { body: "{}" }],
  [
    "insert one",
    "POST /notes",
    201,
    "insert into notes (title, body, stars) values ($1, $2, $3)",
    noteParams,
    { headers: minimal, body: JSON.stringify(note), reset: emptyNotes },
  ],
  [
    "insert 100",
    "POST /notes",
    201,
    `insert into notes (title, body, stars) select title, body, stars
      from json_to_recordset($1) as note (title text, body text, stars int)`,
    [hundredNotes],
    { headers: minimal, body: hundredNotes, reset: emptyNotes },
  ],
  [
    "update one",
    `PATCH /stock?id=eq.${itemKey}`,
    204,
    "update stock set amount = $1 where id = $2",
    ["1", itemKey],
    { body: '{"amount":1}', reset: freshStock },
  ],
  [
    `reads by ${userCount.toLocaleString("en-US")} users`,
    "GET /items?id=eq.1",
    200,
    byKey,
    ["1"],
    { hasToken: true },
  ],
];

/** Requests of users to tables without policies, to compare with those under row level security. */
const tokenRows: readonly CaseRow[] = [
  ["plain row by key, token", rowByKey.request.line, 200, byKey, [itemKey]],
  [
    "plain insert, representation",
    "POST /notes",
    201,
    `insert into notes (title, body, stars) values ($1, $2, $3)
      returning json_build_array(notes)`,
    noteParams,
    { headers: representation, body: JSON.stringify(note), reset: emptyNotes },
  ],
];

const ownDocument = "{10..59}{user}";
const ownDraft = "{1..9}{user}";

const pageOf = (relation: string) =>
  `select coalesce(json_agg(page), '[]') from (select * from ${relation} order by id limit 20) page`;

const rlsRows: readonly CaseRow[] = [
  [
    "user's row by key",
    `GET /documents?id=eq.${ownDocument}`,
    200,
    "select coalesce(json_agg(document), '[]') from documents document where id = $1",
    [ownDocument],
  ],
  ["user's page of 20", "GET /documents?order=id&limit=20", 200, pageOf("documents")],
  ["page by membership", "GET /tasks?order=id&limit=20", 200, pageOf("tasks")],
  [
    "security_invoker view",
    "GET /current_documents?order=id&limit=20",
    200,
    pageOf("current_documents"),
  ],
  [
    "stable function",
    "GET /rpc/recent_documents?most=20",
    200,
    `select coalesce(json_agg(document), '[]') from (select * from recent_documents($1)) document`,
    ["20"],
  ],
  [
    "user's insert, representation",
    "POST /entries",
    201,
    `insert into entries (title, body, stars) values ($1, $2, $3)
      returning json_build_array(entries)`,
    noteParams,
    { headers: representation, body: JSON.stringify(note), reset: emptyEntries },
  ],
  [
    "user's update, representation",
    `PATCH /drafts?id=eq.${ownDraft}`,
    200,
    "update drafts set title = $1 where id = $2 returning json_build_array(drafts)",
    ["another title", ownDraft],
    { headers: representation, body: '{"title":"another title"}', reset: freshDrafts },
  ],
];

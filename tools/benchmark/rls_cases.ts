/** Requests to tables with row level security. @module */
import type { HandWritten, LoadCase } from "./load_case.ts";
import { note, noteParams } from "./plain_cases.ts";
import { emptyEntries, freshDrafts } from "./rls_fixture.ts";
import type { User } from "./template.ts";

/** Returns the cases; each request carries the token of a random user. */
export function rlsCases(users: readonly User[]): readonly LoadCase[] {
  return [...ownRows(users), ...derivedRows(users), ...writes(users)];
}

const ownDocument = "{10..59}{user}";
const ownDraft = "{1..9}{user}";

function page(relation: string): HandWritten {
  return {
    text: `select coalesce(json_agg(page), '[]')
      from (select * from ${relation} order by id limit 20) page`,
    params: [],
  };
}

function ownRows(users: readonly User[]): readonly LoadCase[] {
  return [
    {
      name: "own row by key",
      request: { line: `GET /documents?id=eq.${ownDocument}`, users },
      status: 200,
      floor: {
        text: "select coalesce(json_agg(document), '[]') from documents document where id = $1",
        params: [ownDocument],
      },
    },
    {
      name: "own page of 20",
      request: { line: "GET /documents?order=id&limit=20", users },
      status: 200,
      floor: page("documents"),
    },
    {
      name: "page by membership",
      request: { line: "GET /tasks?order=id&limit=20", users },
      status: 200,
      floor: page("tasks"),
    },
  ];
}

function derivedRows(users: readonly User[]): readonly LoadCase[] {
  return [
    {
      name: "security_invoker view",
      request: { line: "GET /current_documents?order=id&limit=20", users },
      status: 200,
      floor: page("current_documents"),
    },
    {
      name: "stable function",
      request: { line: "GET /rpc/recent_documents?most=20", users },
      status: 200,
      floor: {
        text: `select coalesce(json_agg(document), '[]')
          from (select * from recent_documents($1)) document`,
        params: ["20"],
      },
    },
  ];
}

const representation = { Prefer: "return=representation" } as const;

function writes(users: readonly User[]): readonly LoadCase[] {
  return [
    {
      name: "own insert, representation",
      request: {
        line: "POST /entries",
        headers: representation,
        body: JSON.stringify(note),
        users,
      },
      status: 201,
      reset: emptyEntries,
      floor: {
        text: `insert into entries (title, body, stars) values ($1, $2, $3)
          returning json_build_array(entries)`,
        params: noteParams,
      },
    },
    {
      name: "own update, representation",
      request: {
        line: `PATCH /drafts?id=eq.${ownDraft}`,
        headers: representation,
        body: '{"title":"another title"}',
        users,
      },
      status: 200,
      reset: freshDrafts,
      floor: {
        text: "update drafts set title = $1 where id = $2 returning json_build_array(drafts)",
        params: ["another title", ownDraft],
      },
    },
  ];
}

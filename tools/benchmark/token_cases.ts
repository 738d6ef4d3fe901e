/** Requests with tokens to tables without policies, to compare with those under row level security.
 * @module */
import type { LoadCase } from "./load_case.ts";
import { emptyNotes } from "./fixture.ts";
import { note, noteParams, rowByKey } from "./plain_cases.ts";
import type { User } from "./template.ts";

/** Returns the cases; each request carries the token of a random user. */
export function tokenCases(users: readonly User[]): readonly LoadCase[] {
  return [
    {
      name: "plain row by key, token",
      ...rowByKey,
      request: { ...rowByKey.request, users },
    },
    {
      name: "plain insert, representation",
      request: {
        line: "POST /notes",
        headers: { Prefer: "return=representation" },
        body: JSON.stringify(note),
        users,
      },
      status: 201,
      reset: emptyNotes,
      floor: {
        text: `insert into notes (title, body, stars) values ($1, $2, $3)
          returning json_build_array(notes)`,
        params: noteParams,
      },
    },
  ];
}

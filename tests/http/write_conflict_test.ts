/** Upserts by partial indexes, indexes on expressions, and with the columns to update. */
import { apiSuite } from "../support/api.ts";

const suite = apiSuite("conflicts", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "upserts by any unique index",
});
const merge = { Prefer: "resolution=merge-duplicates, return=representation" };
const ignore = { Prefer: "resolution=ignore-duplicates, return=representation" };

const refused = (details: string, hint: string | null = null) => ({
  code: "SVC157",
  details,
  hint,
  message: "Invalid conflict handling",
});
const slot = { room: "a", day: "2024-01-01", who: "bob", n: 5 };

suite.rows("on_conflict finds partial indexes", [
  [
    "POST /slots?on_conflict=room,day&select=id,who,n",
    { body: slot, headers: merge },
    200,
    [{ id: 100, who: "bob", n: 5 }],
    { "Preference-Applied": "resolution=merge-duplicates, return=representation" },
  ],
  [
    "POST /slots?on_conflict=day,room&select=id,who",
    { body: slot, headers: merge },
    200,
    [{ id: 100, who: "bob" }],
  ],
  ["POST /slots?on_conflict=room,day", { body: slot, headers: ignore }, 201, []],
  // A row outside of the index is no duplicate.
  [
    "POST /slots?on_conflict=room,day&select=id,state",
    { body: { ...slot, id: 7, state: "done" }, headers: merge },
    201,
    [{ id: 7, state: "done" }],
  ],
  // An index without condition comes first.
  [
    "POST /both?on_conflict=k&select=id,v",
    { body: { k: 1, v: "new" }, headers: merge },
    200,
    [{ id: 100, v: "new" }],
  ],
  [
    "POST /shared?on_conflict=k",
    { body: { k: 1, flag: true, v: "new" }, headers: merge },
    400,
    refused(
      "Several unique indexes have these columns: 'shared_false', 'shared_true'",
      "Name one of them by on_conflict.index",
    ),
  ],
  [
    "POST /slots?on_conflict=who",
    { body: slot, headers: merge },
    400,
    {
      code: "42P10",
      details: null,
      hint: null,
      message: "there is no unique or exclusion constraint matching the ON CONFLICT specification",
    },
  ],
]);

suite.rows("on_conflict.index names an index", [
  [
    "POST /shared?on_conflict.index=shared_true&select=id,v",
    { body: { k: 1, flag: true, v: "new" }, headers: merge },
    200,
    [{ id: 100, v: "new" }],
  ],
  [
    "POST /shared?on_conflict.index=shared_false&select=id,v",
    { body: [{ k: 1, flag: false, v: "new" }], headers: merge },
    200,
    [{ id: 101, v: "new" }],
  ],
  [
    "POST /users?on_conflict.index=users_email&select=id,email,name",
    { body: { email: "ADA@X.ORG", name: "A." }, headers: merge },
    200,
    [{ id: 100, email: "ADA@X.ORG", name: "A." }],
  ],
  [
    "POST /users?on_conflict.index=users_email",
    { body: { email: "ADA@X.ORG", name: "A." }, headers: ignore },
    201,
    [],
  ],
  [
    "POST /slots?on_conflict.index=slots_pkey&select=id,who",
    { body: { id: 100, who: "eve" }, headers: merge },
    200,
    [{ id: 100, who: "eve" }],
  ],
  [
    "POST /slots?on_conflict.index=nope",
    { body: slot, headers: merge },
    400,
    refused("'slots' has no unique index 'nope'"),
  ],
  [
    "POST /deferred?on_conflict.index=deferred_k",
    { body: { id: 1, k: 1 }, headers: merge },
    400,
    refused("'deferred' has no unique index 'deferred_k'"),
  ],
  [
    "POST /shown?on_conflict.index=slots_active",
    { body: slot, headers: merge },
    400,
    refused("'shown' has no unique index 'slots_active'"),
  ],
  [
    "POST /slots?on_conflict.index=slots_active",
    { body: slot },
    400,
    refused("'on_conflict.index' needs a resolution"),
  ],
  [
    "POST /slots?on_conflict.index=slots_active&on_conflict=room",
    { body: slot, headers: merge },
    400,
    refused("'on_conflict.index' cannot be combined with 'on_conflict'"),
  ],
]);

suite.rows("on_conflict.columns names the columns to update", [
  [
    "POST /slots?on_conflict=room,day&on_conflict.columns=who&select=id,who,n",
    { body: slot, headers: merge },
    200,
    [{ id: 100, who: "bob", n: 1 }],
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.columns=who,n&select=room,who,n",
    { body: [slot, { ...slot, room: "b" }], headers: merge },
    201,
    [{ room: "a", who: "bob", n: 5 }, { room: "b", who: "bob", n: 5 }],
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.columns=state",
    { body: slot, headers: merge },
    400,
    refused("The body does not write 'state'"),
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.columns=nope",
    { body: slot, headers: merge },
    400,
    {
      code: "SVC204",
      details: null,
      hint: null,
      message: "Could not find the 'nope' column of 'slots' in the schema cache",
    },
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.columns=who",
    { body: slot, headers: ignore },
    400,
    refused("'on_conflict.columns' needs resolution=merge-duplicates"),
  ],
  // A value that is a filter stays one, here on an embed that does not exist.
  [
    "POST /slots?on_conflict.index=eq.1",
    { body: slot, headers: merge },
    400,
    {
      code: "SVC108",
      details: null,
      hint: "Verify that 'on_conflict' is included in the 'select' query parameter.",
      message: "'on_conflict' is not an embedded resource in this request",
    },
  ],
]);

suite.rows("on_conflict.where is a condition of the update", [
  [
    "POST /slots?on_conflict=room,day&on_conflict.where=(n.lt(excluded).n)&select=id,n",
    { body: slot, headers: merge },
    200,
    [{ id: 100, n: 5 }],
  ],
  // A row that stays as it is is not returned, and counts neither as inserted nor as updated.
  [
    "POST /slots?on_conflict=room,day&on_conflict.where=(n.gt(excluded).n)&select=id,n",
    { body: slot, headers: merge },
    200,
    [],
    { "Content-Range": "*/*" },
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.where=(who.eq.ada,or(n.eq.7,n.lt(excluded).n))" +
    "&on_conflict.columns=who&select=who,n",
    { body: slot, headers: merge },
    200,
    [{ who: "bob", n: 1 }],
  ],
  // A text is a text.
  [
    'POST /slots?on_conflict=room,day&on_conflict.where=(who.neq."excluded(who)")&select=id',
    { body: slot, headers: merge },
    200,
    [{ id: 100 }],
  ],
  [
    "POST /slots?on_conflict=room,day&on_conflict.where=(n.lt(excluded).n)",
    { body: slot, headers: ignore },
    400,
    refused("'on_conflict.where' needs resolution=merge-duplicates"),
  ],
  [
    "GET /slots?n=lt(excluded).n",
    {},
    400,
    refused("'excluded' has a meaning in on_conflict.where only"),
  ],
]);

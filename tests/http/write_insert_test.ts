import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("writes_shapes", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "writes_shapes, inserts",
});
const representation = { Prefer: "return=representation" };
const missing = { Prefer: "missing=default, return=representation" };

suite.rows("returned", [
  ...["", ", count=planned"].map((count): Row => [
    "POST /single",
    { body: [{ id: 3 }, { id: 4 }], headers: { Prefer: `return=minimal${count}` } },
    201,
    undefined,
    { "Content-Range": "*/*" },
  ]),
  ...["exact", "estimated"].map((count): Row => [
    "POST /single",
    { body: [{ id: 3 }, { id: 4 }], headers: { Prefer: `count=${count}` } },
    201,
    undefined,
    { "Content-Range": "*/2", "Preference-Applied": `count=${count}` },
  ]),
  ...answers()`
    POST /single?select=id&limit=1&offset=1&id=gt.3 {Prefer: return=representation}
      with [{"id":3},{"id":4}]
      400 SVC196 | Parameter 'limit' cannot be applied | It has no effect
    POST /single?id=nope.3 with {"id":3}
      400 SVC100 | nope is not an operator | "failed to parse filter (nope.3)" (line 1, column 1): unexpected "p" expecting "not" or operator (eq, gt, ...)
    POST /single?select=key:id,text:id::text,shout {Prefer: return=representation}
      with {"id":3,"note":"loud"}
      201 [{"key":3,"text":"3","shout":"LOUD"}]
  `,
  ...answers({ headers: { Prefer: "return=headers-only" }, body: { id: 3 } })`
    POST /single?select=nothing | 400 42703 | column single.nothing does not exist
  `,
  ...answers({ headers: { Accept: "text/csv", Prefer: "return=representation" } })`
    POST /single with [{"id":3}]
      201 "id,note,other\n3,,given"
      Content-Type: text/csv; charset=utf-8
    POST /single with [] | 201 "\n"
    POST /keyless {Content-Type: text/csv} with "a,b\nNULL,foo" | 201 "a,b\n,foo"
  `,
]);

suite.answers("Location", { headers: { Prefer: "return=headers-only" } })`
  POST /rights?select=right_id with {"right_id":9}
    201
    Location: /rights?right_id=eq.9
  POST /camelCase with {"theKey":9}
    201
    Location: /camelCase?theKey=eq.9
  POST /%D0%BA%D0%BB%D1%8E%D1%87%20&%20key with {"имя":"ü(1)"}
    201
    Location: /ÐºÐ»ÑÑ%20&%20key?%D0%B8%D0%BC%D1%8F=eq.%C3%BC%281%29
  POST /singles with {"id":4}
    201
    Location: /singles?id=eq.4
  POST /joined with {"right_id":4,"left_id":null}
    201
    Location: /joined?left_id=is.null&right_id=eq.4
`;

suite.answers("types")`
  POST /typed
    with "{\"id\":1,\"n\":1.005,\"f\":\"NaN\",\"t\":{\"a\": 1},
      +\"flag\":\"yes\",\"ts\":\"2024-01-02T00:00:00Z\",\"v\":\"12345\",\"c\":\"a\",
      +\"b\":\"1010\",\"ints\":[1,null],\"grid\":[[1,2],[3,4]],
      +\"mood\":\"glad\",\"place\":{\"y\":2,\"x\":1},\"j\":{\"a\":1,
      +  \"a\":2},\"jb\":{\"a\":1,\"a\":2},\"bytes\":\"\\\\x00ff\",
      +\"u\":\"00000000-0000-0000-0000-000000000001\"}"
    Content-Type: application/json
    Prefer: return=representation
    201 [{"id":1,"n":1.01,"f":"NaN","t":"{\"a\": 1}","flag":true,"ts":"2024-01-02T00:00:00+00:00",
      +"v":"12345","c":"a  ","b":"1010","ints":[1,null],"grid":[[1,2],[3,4]],
      +"mood":"glad","place":{"x":1,"y":2},"j":{"a":2},"jb":{"a":2},
      +"bytes":"\\x00ff","u":"00000000-0000-0000-0000-000000000001","checked":null}]
  // json keeps its text, jsonb does not.
  POST /typed?select=j::text,jb::text,t {Content-Type: application/json}
    Prefer: return=representation
    with "{\"id\":1,\"j\":{\"a\":1,  \"a\":2},\"jb\":{\"a\":1,  \"a\":2},\"t\":[1, 2]}"
    201 [{"j":"{\"a\":1,  \"a\":2}","jb":"{\"a\": 2}","t":"[1, 2]"}]
  // With missing=default the whole body is jsonb first.
  POST /typed?columns=id,j&select=j::text with "{\"id\":1,\"j\":{\"a\":1,  \"a\":2}}"
    Content-Type: application/json
    Prefer: missing=default, return=representation
    201 [{"j":"{\"a\": 2}"}]
  POST /typed?select=j,jb,t with {"id":1,"j":null,"jb":null,"t":null}
    Prefer: return=representation
    201 [{"j":null,"jb":null,"t":null}]
  POST /typed?select=j {Prefer: return=representation} with {"id":1,"j":null}
    201 [{"j":null}]
  POST /typed?select=ints,t,flag,n with {"id":1,"ints":"{1,2}","t":5,"flag":1,"n":"7"}
    Prefer: return=representation
    201 [{"ints":[1,2],"t":"5","flag":true,"n":7}]
  POST /typed with {"id":1,"c":"1234"} | 400 22001 | value too long for type character(3)
  POST /typed with {"id":1,"b":"10"} | 400 22026 | bit string length 2 does not match type bit(4)
  POST /typed with {"id":99999999999}
    400 22003 | value "99999999999" is out of range for type integer
  POST /single with {"ID":1}
    400 SVC204 | Could not find the 'ID' column of 'single' in the schema cache
`;

suite.rows("defaults", [
  ...answers()`
    POST /defaults?select=own,score,grade,plain,label,doc {Prefer: return=representation} with {}
      201 [{"own":5,"score":7,"grade":9,"plain":null,"label":"0","doc":{"a":[1]}}]
    POST /defaults?select=own,score,grade with {"own":null,"score":null,"grade":null}
      Prefer: return=representation
      201 [{"own":null,"score":null,"grade":null}]
    POST /defaults?columns=own,score,grade,label,doc,plain&select=own,score,grade,label,doc,plain
      with [{},{"own":1,"score":2,"grade":3,"label":"l","doc":4,"plain":"p"},
        +{"own":null,"score":null,"grade":null,"label":null,"doc":null,"plain":null}]
      Prefer: missing=default, return=representation
      201 [{"own":5,"score":7,"grade":9,"label":"0","doc":{"a":[1]},"plain":null},
        +{"own":1,"score":2,"grade":3,"label":"l","doc":4,"plain":"p"},{"own":null,"score":null,
        +"grade":null,"label":null,"doc":null,"plain":null}]
      Preference-Applied: missing=default, return=representation
    POST /defaults?columns=own,plain&select=own,plain with [{},{"plain":"p","other":1}]
      Prefer: missing=null, return=representation
      201 [{"own":null,"plain":null},{"own":null,"plain":"p"}]
      Preference-Applied: missing=null, return=representation
    POST /defaults_view?columns=own,plain&select=own,plain with [{},{"own":1}]
      Prefer: missing=default, return=representation
      201 [{"own":50,"plain":null},{"own":1,"plain":null}]
    POST /defaults_view?select=own,plain {Prefer: return=representation} with {"plain":"p"}
      201 [{"own":50,"plain":"p"}]
    POST /always?select=base,twice {Prefer: return=representation} with {"base":2}
      201 [{"base":2,"twice":4}]
    POST /always with {"id":1}
      400 428C9 | cannot insert a non-DEFAULT value into column "id" | Column "id" is an identity
        + column defined as GENERATED ALWAYS. | Leave generated columns out of the body and of 'columns'
  `,
  ...answers({ headers: { Prefer: "missing=default, return=representation" } })`
    POST /always?columns=id,base with [{"base":1}]
      400 428C9 | cannot insert a non-DEFAULT value into column "id" | Column "id" is an identity column defined as GENERATED ALWAYS. | Leave generated columns out of the body and of 'columns'
    POST /defaults?columns=own
      with 5
      400 22023 | cannot extract elements from a scalar
    POST /defaults?columns=own with [5] | 400 22023 | cannot call populate_composite on an array
  `,
]);

suite.answers("domains with representations")`
  POST /paints {Prefer: return=representation} with {"id":2,"tint":"#00FF00"}
    201 [{"id":2,"tint":"#00FF00","name":null}]
  POST /paints?columns=id,tint {Prefer: missing=default, return=representation}
    with [{"id":2,"tint":"00FF00"},{"id":3,"tint":null},{"id":4}]
    201 [{"id":2,"tint":"#00FF00","name":null},{"id":3,"tint":null,"name":null},
      +{"id":4,"tint":"#00000F","name":null}]
  POST /paints?columns=id {Prefer: return=representation} with {"id":2,"tint":"x"}
    201 [{"id":2,"tint":"#00000F","name":null}]
  POST /paint_list?select=tint {Prefer: return=representation} with {"id":2,"tint":"#1"}
    201 [{"tint":"#000001"}]
  POST /paints?select=tint {Content-Type: text/csv} {Prefer: return=representation}
    with "id,tint\n2,#1"
    201 [{"tint":"#000001"}]
  PATCH /paints?tint=eq.0000FF&select=id,tint {Prefer: return=representation} with {"tint":"#2"}
    200 [{"id":1,"tint":"#000002"}]
  PUT /swatches?tint=eq.%230000FF {Prefer: return=representation}
    with {"tint":"#0000FF","name":"navy"}
    200 [{"tint":"#0000FF","name":"navy"}]
  POST /swatches {Prefer: return=headers-only} with {"tint":"#3"}
    201
    Location: /swatches?tint=eq.3
`;

suite.rows("views, partitions and triggers", [
  ["POST /singles?select=id,note", { body: { id: 5, note: "n" }, headers: representation }, 201, [
    { id: 5, note: "n" },
  ]],
  ...answers()`
    POST /joined {Prefer: return=representation} with {"left_id":1,"right_id":5,"name":"n"}
      201 [{"left_id":1,"right_id":5,"name":"n"}]
    POST /singles?select=id,nothing(id) {Prefer: return=minimal} with {"id":5}
      400 SVC200 | Could not find a relationship between 'singles' and 'nothing' in the schema cache | Searched for a foreign key relationship between 'singles' and 'nothing' in the schema 'api', but no matches were found. | Perhaps you meant 'rights' instead of 'singles'.
    POST /frozen with {"total":1}
      400 55000 | cannot insert into view "frozen" | Views that return aggregate functions are not automatically updatable. | To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule.
    DELETE /frozen | 400 55000 | cannot delete from view "frozen" | Views that return aggregate functions are not automatically updatable. | To enable deleting from the view, provide an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule.
    POST /parted with {"id":5,"region":"c"}
      400 23514 | no partition of relation "parted" found for row | Partition key of the failing row contains (region) = (c).
    POST /quiet {Prefer: count=exact} with [{"id":5,"note":"swallow"},{"id":6,"note":"x"}]
      201
      Content-Range: */1
    POST /quiet with {"id":5,"note":"raise"} | 400 P0001 | not wanted | why | how
  `,
]);

suite.rows("rights", [
  ["POST /columns", { body: { id: 5, open: "x" } }, 201, undefined],
  ...answers()`
    POST /columns with {"id":5,"closed":"x"} | 401 42501 | permission denied for table columns
  `,
  ...answers({ headers: { Prefer: "return=representation" }, body: { id: 5 } })`
    POST /columns?select=id,open | 201 [{"id":5,"open":null}]
    POST /columns | 401 42501 | permission denied for table columns
  `,
  ...answers({ headers: { Prefer: "return=headers-only" }, body: { id: 5 } })`
    POST /columns?select=id
      201
      Location: /columns?id=eq.5
    POST /columns | 401 42501 | permission denied for table columns
    POST /blind | 401 42501 | permission denied for table blind
  `,
  ...answers({ body: { note: "x" } })`
    POST /blind_keyless | 201
    POST /blind_keyless {Prefer: return=headers-only}
      401 42501 | permission denied for table blind_keyless
  `,
]);

suite.test("each row that lacks a key gets a value of its own from the sequence", async (api) => {
  const response = await api("POST /defaults?columns=id,ticket&select=id,ticket", {
    body: [{ id: 50, ticket: 50 }, {}, { id: 51 }, {}],
    headers: missing,
  });
  const rows: { readonly id: number; readonly ticket: number }[] = await response.json();
  deepStrictEqual([rows[0], rows[2]?.id], [{ id: 50, ticket: 50 }, 51]);
  strictEqual(new Set(rows.map(({ id }) => id)).size, 4);
  strictEqual(new Set(rows.map(({ ticket }) => ticket)).size, 4);
  ok(rows.every(({ id, ticket }) => id > 0 && ticket > 0));
});

suite.test("a key that is there takes nothing from the sequence", async (api) => {
  const next = async () => {
    const response = await api("POST /defaults?columns=ticket&select=ticket", {
      body: {},
      headers: missing,
    });
    return (await response.json())[0].ticket;
  };
  const before = await next();
  await api("POST /defaults?columns=id,ticket", {
    body: [{ id: 1, ticket: 1 }, { id: 2, ticket: null }],
    headers: missing,
  });
  strictEqual(await next(), before + 1);
});

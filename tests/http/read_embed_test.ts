/** Embedded relations: shapes, filters, orders, spreads, null tests, counts and errors. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon" }, {
  title: "embedding tools",
});

const exact = { headers: { Prefer: "count=exact" } };

const failure = (
  code: string,
  message: string,
  { details = null, hint = null }: { details?: string | null; hint?: string | null } = {},
) => ({ code, message, details, hint });

const ids = (...ids: readonly number[]) => ids.map((id) => ({ id }));

const notToOne = (operation: string, from: string, to: string) =>
  failure(
    operation,
    `A ${operation === "SVC118" ? "related order" : "spread operation"} on '${to}' is not possible`,
    { details: `'${from}' and '${to}' do not form a many-to-one or one-to-one relationship` },
  );

const notEmbedded = (name: string) =>
  failure("SVC108", `'${name}' is not an embedded resource in this request`, {
    hint: `Verify that '${name}' is included in the 'select' query parameter.`,
  });

suite.test("embeds keep the order of select=", async (api) => {
  const text = async (path: string) => await (await api(`GET ${path}`)).text();
  strictEqual(
    await text("/tools?select=name,makers(name,id)&id=in.(1,4)&order=id"),
    '[{"name":"saw","makers":{"name":"Bosk","id":1}}, \n {"name":"relic","makers":null}]',
  );
  strictEqual(
    await text("/makers?select=name,tools(name,manuals(pages))&order=id&tools.order=id"),
    '[{"name":"Bosk","tools":[{"name":"saw","manuals":{"pages":12}}, \n ' +
      '{"name":"drill","manuals":{"pages":40}}]}, \n ' +
      '{"name":"Ryo","tools":[{"name":"plane","manuals":null}]}, \n ' +
      '{"name":"Idle","tools":[]}]',
  );
});

suite.test("the same relation twice is two members of its name", async (api) => {
  const response = await api("GET /tools?select=id,makers(name),makers(city)&id=eq.1");
  strictEqual(await response.text(), '[{"id":1,"makers":{"name":"Bosk"},"makers":{"city":"Ulm"}}]');
});

suite.test("a member that an embed selects twice appears once", async (api) => {
  const line = "GET /makers?id=eq.2&select=tools(id,id,x:id,x:name)";
  strictEqual(await (await api(line)).text(), '[{"tools":[{"id":3,"x":"plane"}]}]');
  const whole = await (await api("GET /manuals?tool_id=eq.1&select=tools(*,id)")).text();
  strictEqual(whole.match(/"id"/g)?.length, 1);
});

suite.answers("embeds are")`
  GET /tools?select=makers()&id=lt.3 | 200 [{},{}]
  GET /makers?select=name,tools(manuals(*))&id=eq.2
    200 [{"name":"Ryo","tools":[{"manuals":null}]}]
  GET /makers?select=id(name)&id=eq.2 | 200 [{"id":[{"name":"plane"}]}]
  GET /tools?select=id,shout,makers(name)&order=shout&limit=1
    200 [{"id":2,"shout":"DRILL","makers":{"name":"Bosk"}}]
  GET /tools?select=name,sheds(title,tool_sheds(qty))&id=eq.1&sheds.order=id
    200 [{"name":"saw","sheds":[{"title":"north","tool_sheds":[{"qty":2},{"qty":5}]},
      +{"title":"south","tool_sheds":[{"qty":1}]}]}]
`;

suite.rows("filters of embeds act inside them", [
  ...answers()`
    GET /makers?select=id,tools(id,sheds(id))&order=id.desc&limit=2&offset=1&tools.order=id
      +&tools.limit=1&tools.sheds.order=id.desc&tools.sheds.limit=1
      200 [{"id":2,"tools":[{"id":3,"sheds":[]}]},{"id":1,"tools":[{"id":1,"sheds":[{"id":2}]}]}]
    // The first of two orders, and the first embed that has the name or the alias.
    GET /makers?select=t:tools(id)&id=eq.1&tools.order=id.desc&t.order=id
      200 [{"t":[{"id":2},{"id":1}]}]
    GET /makers?select=tools(id),b:tools(id)&id=eq.2&tools.id=eq.0
      200 [{"tools":[],"b":[{"id":3}]}]
    GET /makers?select=b:tools(id),tools(id)&id=eq.2&tools.id=eq.0
      200 [{"tools":[{"id":3}],"b":[]}]
  `,
  ["GET /makers?select=id&one.a=is.null&two.a=is.null", {}, 400, notEmbedded("two")],
  ...["f.a=is.null", "o.order=a", "l.limit=1", "g.or=(a.is.null)"].map((_, first, parts): Row => [
    `GET /makers?select=id&${parts.slice(first).toReversed().join("&")}`,
    {},
    400,
    notEmbedded(parts[first]![0]!),
  ]),
  ["GET /makers?select=tools(id)&tools.nope.order=id", {}, 400, notEmbedded("nope")],
  ["GET /makers?select=nonsense(id)&tools.limit=1", {}, 400, notEmbedded("tools")],
]);

suite.rows("parents are chosen by their embeds", [
  ...answers(exact)`
    GET /tools?select=name,makers!inner(name)&makers.city=eq.Ulm&order=id
      200 [{"name":"saw","makers":{"name":"Bosk"}},{"name":"drill","makers":{"name":"Bosk"}}]
      Content-Range: 0-1/2
  `,
  ...answers()`
    GET /makers?select=name,tools!inner(name)&tools.offset=1
      200 [{"name":"Bosk","tools":[{"name":"drill"}]}]
    GET /tools?select=name,manuals()&or=(manuals.is.null,id.eq.1)&not.or=(manuals.is.null,id.eq.2)
      200 [{"name":"saw"}]
    GET /makers?select=name,tools(name,manuals())&tools.manuals=is.null&order=id
      200 [{"name":"Bosk","tools":[]},{"name":"Ryo","tools":[{"name":"plane"}]},
        +{"name":"Idle","tools":[]}]
    GET /tools?select=name,...manuals(pages)&manuals=is.null&order=id
      200 [{"name":"plane","pages":null},{"name":"relic","pages":null}]
    GET /makers?select=tools(name)&tools=eq.1
      400 SVC120 | Bad operator on the 'tools' embedded resource | Only is null or not is null filters are allowed on embedded resources
    GET /makers?select=tools(name)&tools=is.not_null
      400 SVC120 | Bad operator on the 'tools' embedded resource | Only is null or not is null filters are allowed on embedded resources
    GET /manuals?select=tools(s:sheds())&tools.or=(id.is.null,and(s.eq.1)) | 400 SVC120 | Bad operator on the 'sheds' embedded resource | Only is null or not is null filters are allowed on embedded resources
    GET /makers?select=tools()&tools->a=eq.1 | 400 42703 | column makers.tools does not exist
    // A wrong order is reported before a wrong spread, and that before a wrong filter.
    GET /makers?select=...tools(),t:tools()&order=t(id) | 400 SVC118 | A related order on 't' is not possible | 'makers' and 't' do not form a many-to-one or one-to-one relationship
    GET /makers?select=...tools(),t:tools()&t=eq.1 | 400 SVC119 | A spread operation on 'tools' is not possible | 'makers' and 'tools' do not form a many-to-one or one-to-one relationship
    GET /tools?select=name&manuals=is.null | 400 42703 | column tools.manuals does not exist
  `,
]);

suite.rows("parents are ordered by a related column", [
  ...answers()`
    GET /tools?select=id,client:makers(n:name)&order=client(n),id.desc&limit=2&offset=1
      200 [{"id":1,"client":{"n":"Bosk"}},{"id":3,"client":{"n":"Ryo"}}]
    GET /tools?select=id,...manuals!inner(pages)&order=manuals(pages).desc
      200 [{"id":2,"pages":40},{"id":1,"pages":12}]
    GET /manuals?select=pages,tools(name,spec)&order=tools(spec->w->kg).desc
      200 [{"pages":40,"tools":{"name":"drill","spec":{"w":{"kg":3}}}},
        +{"pages":12,"tools":{"name":"saw","spec":{"w":{"kg":2,"unit":"kg"},
        +"colors":["red","blue"]}}}]
    GET /manuals?select=pages,...tools(name,...makers(maker:name))&order=tools(maker),pages
      200 [{"pages":12,"name":"saw","maker":"Bosk"},{"pages":40,"name":"drill","maker":"Bosk"}]
    GET /tools?select=id,makers(name)&order=makers(city)&limit=1
      200 [{"id":3,"makers":{"name":"Ryo"}}]
    // Which node has the key: an item, what is spread into the embed, or its row.
    GET /manuals?select=pages,tools(...makers(maker:name))&order=tools(id).desc
      200 [{"pages":40,"tools":{"maker":"Bosk"}},{"pages":12,"tools":{"maker":"Bosk"}}]
    GET /manuals?select=pages,t:tools(k:id,...makers(maker:name))&order=t(id).desc
      200 [{"pages":40,"t":{"k":2,"maker":"Bosk"}},{"pages":12,"t":{"k":1,"maker":"Bosk"}}]
    GET /manuals?select=pages,t:tools(k:id,...makers(maker:name))&order=t(k).desc
      200 [{"pages":40,"t":{"k":2,"maker":"Bosk"}},{"pages":12,"t":{"k":1,"maker":"Bosk"}}]
    GET /manuals?select=pages,t:tools(id,...makers(maker:name))&order=t(maker),t(name).desc
      200 [{"pages":12,"t":{"id":1,"maker":"Bosk"}},{"pages":40,"t":{"id":2,"maker":"Bosk"}}]
    GET /manuals?select=pages,...tools(id,...makers(maker:name))&order=tools(name)
      200 [{"pages":40,"id":2,"maker":"Bosk"},{"pages":12,"id":1,"maker":"Bosk"}]
    GET /manuals?select=pages,tools(id,...makers())&order=tools(name)
      200 [{"pages":40,"tools":{"id":2}},{"pages":12,"tools":{"id":1}}]
    GET /manuals?select=pages,tools(id,...makers(m:name,t:tools(id)))&order=tools(name).desc&tools.makers.t.limit=1&tools.makers.t.order=id
      200 [{"pages":12,"tools":{"id":1,"m":"Bosk","t":[{"id":1}]}},
        +{"pages":40,"tools":{"id":2,"m":"Bosk","t":[{"id":1}]}}]
    GET /manuals?select=pages,tools(id,m:makers(name))&order=tools(name)&tools.m=not.is.null
      200 [{"pages":40,"tools":{"id":2,"m":{"name":"Bosk"}}},
        +{"pages":12,"tools":{"id":1,"m":{"name":"Bosk"}}}]
  `,
  ["GET /tools?select=id,makers()&order=makers(name).desc.nullslast,id", {}, 200, ids(3, 1, 2, 4)],
  ["GET /tools?select=id,makers!inner()&order=makers(name).desc,id", {}, 200, ids(3, 1, 2)],
  ...answers()`
    GET /tools?select=id,m:makers()&m.city=eq.Kobe&order=m(city),id&limit=2&offset=1
      Prefer: count=exact
      206 [{"id":1},{"id":2}]
      Content-Range: 1-2/4
    GET /tools?select=id,...makers()&order=makers(name).desc.nullslast,id
      200 [{"id":3},{"id":1},{"id":2},{"id":4}]
    GET /tools?select=id,makers(tools())&order=makers(id).desc,id
      200 [{"id":4},{"id":3},{"id":1},{"id":2}]
    // JSON that the order compares.
    GET /manuals?select=pages,...tools(name,makers(name,id))&order=tools(makers).desc,pages
      200 [{"pages":12,"name":"saw","makers":{"name":"Bosk","id":1}},
        +{"pages":40,"name":"drill","makers":{"name":"Bosk","id":1}}]
    GET /makers?select=tools(id,manuals())&id=eq.1&tools.order=manuals(pages).desc
      200 [{"tools":[{"id":2},{"id":1}]}]
    GET /manuals?select=tool_id,tools()&order=tools(spec->w->kg).desc
      200 [{"tool_id":2},{"tool_id":1}]
    GET /manuals?select=tool_id,tools()&order=tools(shout) | 200 [{"tool_id":2},{"tool_id":1}]
    GET /makers?select=id,latest()&order=latest(price).desc.nullslast
      200 [{"id":1},{"id":2},{"id":3}]
    GET /makers?select=id,latest()&order=latest(shout).nullsfirst | 200 [{"id":3},{"id":1},{"id":2}]
    GET /rpc/cheap_tools?below=100&select=id,makers()&order=makers(name).desc,id
      200 [{"id":3},{"id":1},{"id":2}]
    PATCH /tools?select=id,makers()&id=lt.4&order=makers(name).desc,id as writer with {"price":1}
      Prefer: return=representation
      200 [{"id":3},{"id":1},{"id":2}]
    GET /tools?select=id,makers()&order=makers(missing) | 400 42703 | column makers_1.missing does not exist
    GET /tools?select=id,m:makers(name)&order=makers(name)
      400 SVC108 | 'makers' is not an embedded resource in this request |  | Verify that 'makers' is included in the 'select' query parameter.
    GET /manuals?select=tools(s:sheds(title))&tools.order=s(title) | 400 SVC118 | A related order on 's' is not possible | 'tools' and 's' do not form a many-to-one or one-to-one relationship
  `,
]);

suite.rows("spreads lift columns", [
  ...answers()`
    GET /manuals?select=...tools(*)&tool_id=eq.2
      200 [{"id":2,"name":"drill","maker_id":1,"price":99,"spec":{"w":{"kg":3}},"tags":["hole"],
        +"bought":"2024-02-03"}]
    GET /manuals?select=pages,...tools(tool:name,...makers(maker:name),sheds(title))&pages=gt.20
      200 [{"pages":40,"tool":"drill","maker":"Bosk","sheds":[{"title":"north"}]}]
    GET /tools?select=name,...makers!inner()&makers.name=eq.Ryo | 200 [{"name":"plane"}]
  `,
  ["GET /makers?select=name,...tools(tool:name)", {}, 400, notToOne("SVC119", "makers", "tools")],
]);

suite.answers("computed relationships")`
  GET /makers?select=name,pricey(name),latest(name)&id=eq.1
    200 [{"name":"Bosk","pricey":[{"name":"drill"}],"latest":{"name":"drill"}}]
  GET /makers?select=name,pricey!inner(name)&order=id {Prefer: count=exact}
    200 [{"name":"Bosk","pricey":[{"name":"drill"}]},{"name":"Ryo","pricey":[{"name":"plane"}]}]
  GET /makers?select=name,latest(name)&latest=is.null | 200 [{"name":"Idle","latest":null}]
  GET /makers?select=name,...latest(tool:name)&order=latest(tool).desc.nullslast&limit=2
    200 [{"name":"Ryo","tool":"plane"},{"name":"Bosk","tool":"drill"}]
  GET /makers?select=latest(name,makers(name),sheds(title))&id=eq.1
    200 [{"latest":{"name":"drill","makers":{"name":"Bosk"},"sheds":[{"title":"north"}]}}]
  GET /makers?select=id,liar(name)&order=id {Prefer: count=exact}
    200 [{"id":1,"liar":{"name":"saw"}},{"id":1,"liar":{"name":"drill"}},
      +{"id":2,"liar":{"name":"plane"}},{"id":3,"liar":null}]
    Content-Range: 0-3/4
  GET /makers?select=id,liar(name)&order=id&limit=2 {Prefer: count=exact}
    206 [{"id":1,"liar":{"name":"saw"}},{"id":1,"liar":{"name":"drill"}}]
    Content-Range: 0-1/3
`;

suite.answers("relationships that there are not")`
  GET /tools?select=*,maker(*)
    400 SVC200 | Could not find a relationship between 'tools' and 'maker' in the schema cache | Searched for a foreign key relationship between 'tools' and 'maker' in the schema 'api', but no matches were found. | Perhaps you meant 'makers' instead of 'maker'.
  GET /tools?select=makers!H(*)
    400 SVC200 | Could not find a relationship between 'tools' and 'makers' in the schema cache | Searched for a foreign key relationship between 'tools' and 'makers' using the hint 'H' in the schema 'api', but no matches were found.
`;

suite.test("an aliased embed may be addressed by its target's name", async (api) => {
  const response = await api("GET /makers?select=id,t:tools(id)&tools.price=gt.40&order=id");
  deepStrictEqual([response.status, await response.json()], [200, [
    { id: 1, t: [{ id: 2 }] },
    { id: 2, t: [{ id: 3 }] },
    { id: 3, t: [] },
  ]]);
});

const strict = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  urlUseLegacyTargetNames: false,
}, { title: "embedding by aliases alone" });

strict.answers("an aliased embed is addressed by its alias")`
  GET /makers?select=id,t:tools(id)&t.price=gt.40&id=eq.1 | 200 [{"id":1,"t":[{"id":2}]}]
  GET /makers?select=b:tools(id),tools(id)&id=eq.2&tools.id=eq.0
    200 [{"tools":[],"b":[{"id":3}]}]
  GET /makers?select=id,t:tools(id)&tools.price=gt.40&id=eq.1 | 400 SVC108 | 'tools' is not an embedded resource in this request | Target names are not allowed in filters if they have an alias | Change 'tools' to 't' in filters, orders or limits.
`;

suite.answers("rows of functions are read like tables")`
  GET /rpc/cheap_tools?below=50&select=name,makers(name)&order=price.desc
    200 [{"name":"plane","makers":{"name":"Ryo"}},{"name":"saw","makers":{"name":"Bosk"}}]
  GET /rpc/cheap_tools?below=50&select=name,makers()&makers.city=eq.Kobe&makers=not.is.null
    200 [{"name":"plane"}]
  GET /rpc/cheap_tools?below=50&select=id,shout&shout=neq.SAW | 200 [{"id":3,"shout":"PLANE"}]
  GET /rpc/cheap_tools?below=50&select=*,shout,sheds(title)&order=shout.desc&limit=1
    Prefer: count=exact
    206 [{"id":1,"name":"saw","maker_id":1,"price":30.5,"spec":{"w":{"kg":2,"unit":"kg"},
      +"colors":["red","blue"]},"tags":["cut","wood"],
      +"bought":"2024-01-02","shout":"SAW","sheds":[{"title":"north"},{"title":"south"}]}]
    Content-Range: 0-0/2
  POST /rpc/one_tool?select=name,makers(name,latest(name)) with {"tool":2}
    200 {"name":"drill","makers":{"name":"Bosk","latest":{"name":"drill"}}}
  GET /rpc/prices?price=gt.40&select=name&order=price.desc
    200 [{"name":"drill"},{"name":"plane"}]
  GET /rpc/prices?select=name,makers(name) | 400 SVC200 | Could not find a relationship between 'prices' and 'makers' in the schema cache | Searched for a foreign key relationship between 'prices' and 'makers' in the schema 'api', but no matches were found.
`;

const returning = { as: "writer", headers: { Prefer: "return=representation,count=exact" } };

suite.answers("representations of writes are read like tables", { ...returning })`
  POST /tools?select=name,makers(name) with {"id":9,"name":"file","maker_id":2}
    201 [{"name":"file","makers":{"name":"Ryo"}}]
  DELETE /makers?id=eq.3&select=name,tools(name) | 200 [{"name":"Idle","tools":[]}]
  PATCH /tools?select=id,shout&id=lt.4&order=shout.desc with {"bought":null}
    200 [{"id":1,"shout":"SAW"},{"id":3,"shout":"PLANE"},{"id":2,"shout":"DRILL"}]
  PATCH /tools?select=*,shout&id=eq.2 with {"name":"borer","spec":null,"tags":null}
    200 [{"id":2,"name":"borer","maker_id":1,"price":99,"spec":null,"tags":null,
      +"bought":"2024-02-03","shout":"BORER"}]
  PATCH /tools?select=id,makers(name)&id=lt.4&makers.city=eq.Kobe&limit=1&order=id.desc
    with {"price":1}
    200 [{"id":3,"makers":{"name":"Ryo"}}]
  PATCH /tools?select=id,makers(name)&id=lt.4&order=makers(name).desc,id
    with {"price":1}
    200 [{"id":3,"makers":{"name":"Ryo"}},{"id":1,"makers":{"name":"Bosk"}},
      +{"id":2,"makers":{"name":"Bosk"}}]
  PATCH /makers?select=name,latest(name),pricey(id)&id=eq.1 with {"name":"Boss"}
    200 [{"name":"Boss","latest":{"name":"drill"},"pricey":[{"id":2}]}]
  PATCH /tools?select=id,makers()&makers=is.null with {"price":1}
    400 42703 | column tools.makers does not exist |  | Perhaps you meant to reference the column "tools.maker_id".
  DELETE /tools?select=id,nope(*)&id=eq.4
    400 SVC200 | Could not find a relationship between 'tools' and 'nope' in the schema cache | Searched for a foreign key relationship between 'tools' and 'nope' in the schema 'api', but no matches were found.
`;

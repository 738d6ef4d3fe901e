/** Spreads of many rows in the dialect that has them: each column an array. */
import { strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { errorBody, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
  dialect: "pgrst",
}, { title: "spreading many tools" });

/** A read of everything asked for, and its rows. */
const reads = (path: string, rows: unknown): Row => [`GET ${path}`, {}, 200, rows];

suite.test("arrays pass through jsonb, rows stay plain", async (api) => {
  const text = async (path: string) => await (await api(`GET ${path}`)).text();
  strictEqual(
    await text("/makers?select=name,...tools(tool:name,...manuals(pages))&order=id&tools.order=id"),
    '[{"name":"Bosk","tool":["saw", "drill"],"pages":[12, 40]}, \n ' +
      '{"name":"Ryo","tool":["plane"],"pages":[null]}, \n ' +
      '{"name":"Idle","tool":[],"pages":[]}]',
  );
});

suite.answers("columns are arrays of one order")`
  GET /makers?select=name,...tools(tool:name,price)&order=id&tools.order=price.desc
    200 [{"name":"Bosk","tool":["drill","saw"],"price":[99,30.5]},{"name":"Ryo",
      +"tool":["plane"],"price":[45]},{"name":"Idle","tool":[],"price":[]}]
  // Nulls keep their places; so do equal values.
  GET /sheds?select=title,...tools(tool:name,bought,maker_id)&order=id&tools.order=name
    200 [{"title":"north","tool":["drill","saw"],"bought":["2024-02-03","2024-01-02"],
      +"maker_id":[1,1]},{"title":"south","tool":["saw"],"bought":["2024-01-02"],
      +"maker_id":[1]}]
  GET /makers?select=...tools(pick:spec->w->>unit,tags)&id=lt.3&order=id&tools.order=id
    200 [{"pick":["kg",null],"tags":[["cut","wood"],["hole"]]},{"pick":[null],
      +"tags":[["wood"]]}]
  GET /makers?select=...tools(shout,price::text)&id=eq.1&tools.order=id
    200 [{"shout":["SAW","DRILL"],"price":["30.50","99"]}]
  // Nothing selected adds nothing; keys of the parent may come again.
  GET /makers?select=name,...tools()&id=eq.1 | 200 [{"name":"Bosk"}]
  GET /makers?select=id,...tools(tool:id),...pricey(dear:name)&order=id&tools.order=id
    200 [{"id":1,"tool":[1,2],"dear":["drill"]},{"id":2,"tool":[3],"dear":["plane"]},{"id":3,
      +"tool":[],"dear":[]}]
`;

suite.answers("* is every known column")`
  GET /makers?select=maker:name,...tools(*)&id=in.(1,3)&order=id&tools.order=id
    200 [{"maker":"Bosk","id":[1,2],"name":["saw","drill"],"maker_id":[1,1],"price":[30.5,99],
      +"spec":[{"w":{"kg":2,"unit":"kg"},"colors":["red","blue"]},{"w":{"kg":3}}],
      +"tags":[["cut","wood"],["hole"]],"bought":["2024-01-02","2024-02-03"]},{"maker":"Idle",
      +"id":[],"name":[],"maker_id":[],"price":[],"spec":[],"tags":[],"bought":[]}]
  GET /makers?select=...tools(tool:name,...manuals(*))&id=eq.1&tools.order=id
    200 [{"tool":["saw","drill"],"tool_id":[1,2],"pages":[12,40]}]
  GET /makers?select=...tools(...sheds(*))&id=eq.1&tools.order=id&tools.sheds.order=id
    200 [{"id":[[1,2],[1]],"title":[["north","south"],["north"]]}]
  GET /makers?select=...tools(manuals(*))&id=eq.1&tools.order=id
    200 [{"manuals":[{"tool_id":1,"pages":12},{"tool_id":2,"pages":40}]}]
`;

suite.answers("inside a spread of many rows")`
  // To-one, spread: values. To-many, spread: arrays.
  GET /sheds?select=title,...tools(tool:name,...makers(maker:name))&order=id&tools.order=id
    200 [{"title":"north","tool":["saw","drill"],"maker":["Bosk","Bosk"]},{"title":"south",
      +"tool":["saw"],"maker":["Bosk"]}]
  GET /makers?select=name,...tools(tool:name,...sheds(shed:title))&order=id&tools.order=id
    +&tools.sheds.order=id
    200 [{"name":"Bosk","tool":["saw","drill"],"shed":[["north","south"],["north"]]},
      +{"name":"Ryo","tool":["plane"],"shed":[[]]},{"name":"Idle","tool":[],"shed":[]}]
  // To-one, embedded: objects and nulls. To-many, embedded: arrays of objects.
  GET /makers?select=...tools(tool:name,manuals(pages))&order=id&tools.order=id
    200 [{"tool":["saw","drill"],"manuals":[{"pages":12},{"pages":40}]},{"tool":["plane"],
      +"manuals":[null]},{"tool":[],"manuals":[]}]
  GET /makers?select=...tools(tool:name,sheds(title))&order=id&tools.order=id
    +&tools.sheds.order=id
    200 [{"tool":["saw","drill"],"sheds":[[{"title":"north"},{"title":"south"}],
      +[{"title":"north"}]]},{"tool":["plane"],"sheds":[[]]},{"tool":[],"sheds":[]}]
  // Four levels of both kinds.
  GET /makers?select=...tools(...tool_sheds(qty,...sheds(shed:title)))&id=lt.3&order=id
    +&tools.order=id&tools.tool_sheds.order=shed_id
    200 [{"qty":[[2,1],[5]],"shed":[["north","south"],["north"]]},{"qty":[[]],"shed":[[]]}]
  GET /makers?select=...tools(...sheds(...tools(name)))&id=eq.1&tools.id=eq.2
    200 [{"name":[[["saw","drill"]]]}]
`;

suite.answers("a spread of many rows inside")`
  // A to-one spread, which is null where there is no row.
  GET /tools?select=name,...makers(maker:name,...tools(all:name))&order=id&makers.tools.order=id
    200 [{"name":"saw","maker":"Bosk","all":["saw","drill"]},{"name":"drill","maker":"Bosk",
      +"all":["saw","drill"]},{"name":"plane","maker":"Ryo","all":["plane"]},{"name":"relic",
      +"maker":null,"all":null}]
  // Embeds.
  GET /tools?select=name,makers(...tools(all:name))&id=in.(3,4)&order=id
    200 [{"name":"plane","makers":{"all":["plane"]}},{"name":"relic","makers":null}]
  GET /sheds?select=title,tools(name,...tool_sheds(qty))&order=id&tools.order=id
    +&tools.tool_sheds.order=shed_id
    200 [{"title":"north","tools":[{"name":"saw","qty":[2,1]},{"name":"drill","qty":[5]}]},
      +{"title":"south","tools":[{"name":"saw","qty":[2,1]}]}]
  // A level that groups.
  GET /tools?select=count(),...sheds(title)&id=gt.2 | 200 [{"count":2,"title":[]}]
`;

suite.answers("orders, windows and filters of a spread")`
  GET /makers?select=...tools(name)&id=eq.1&tools.order=bought.desc
    200 [{"name":["drill","saw"]}]
  GET /makers?select=...tools(name)&id=eq.1&tools.order=spec->w->kg.desc
    200 [{"name":["drill","saw"]}]
  GET /makers?select=...tools(name,manuals(pages))&id=eq.1&tools.order=manuals(pages).desc
    200 [{"name":["drill","saw"],"manuals":[{"pages":40},{"pages":12}]}]
  GET /makers?select=...tools(name,...manuals(pages))&id=eq.1&tools.order=manuals(pages).desc
    200 [{"name":["drill","saw"],"pages":[40,12]}]
  GET /makers?select=name,...tools(tool:name)&order=id&tools.order=id.desc&tools.limit=1
    200 [{"name":"Bosk","tool":["drill"]},{"name":"Ryo","tool":["plane"]},{"name":"Idle",
      +"tool":[]}]
  GET /makers?select=...tools(tool:name)&id=lt.3&order=id&tools.order=id&tools.offset=1
    200 [{"tool":["drill"]},{"tool":[]}]
  GET /makers?select=name,...tools(tool:name)&tools.price=gt.40&order=id
    200 [{"name":"Bosk","tool":["drill"]},{"name":"Ryo","tool":["plane"]},{"name":"Idle",
      +"tool":[]}]
  GET /makers?select=...tools(tool:name)&tools.or=(price.lt.31,name.eq.drill)&id=eq.1
    +&tools.order=id
    200 [{"tool":["saw","drill"]}]
  GET /makers?select=name,...tools(tool:name)&order=name.desc&limit=1&offset=1&tools.order=id
    200 [{"name":"Idle","tool":[]}]
`;

suite.answers("parents by their spreads")`
  GET /makers?select=name,...tools!inner(tool:name)&tools.price=gt.40&order=id {Prefer: count=exact}
    200 [{"name":"Bosk","tool":["drill"]},{"name":"Ryo","tool":["plane"]}]
    Content-Range: 0-1/2
  GET /makers?select=name,...tools(tool:name)&tools=is.null {Prefer: count=exact}
    200 [{"name":"Idle","tool":[]}]
    Content-Range: 0-0/1
  GET /makers?select=name,...tools(tool:name)&tools=not.is.null&order=id&tools.order=id
    200 [{"name":"Bosk","tool":["saw","drill"]},{"name":"Ryo","tool":["plane"]}]
  GET /makers?select=name,...tools()&tools.name=eq.saw&or=(tools.not.is.null,id.eq.3)&order=id
    200 [{"name":"Bosk"},{"name":"Idle"}]
  GET /makers?select=name,...tools(tool:name,...sheds!inner(title))&order=id&tools.order=id
    +&tools.sheds.order=id
    200 [{"name":"Bosk","tool":["saw","drill"],"title":[["north","south"],["north"]]},
      +{"name":"Ryo","tool":[],"title":[]},{"name":"Idle","tool":[],"title":[]}]
  // Below the levels whose rows are tested beforehand.
  GET /sheds?select=tools(makers(tools(...tool_sheds!inner(qty))))&id=eq.2
    200 [{"tools":[{"makers":{"tools":[{"qty":[2,1]},{"qty":[5]}]}}]}]
`;

suite.answers("relationships")`
  // One-to-many, many-to-many and a function.
  GET /makers?select=...tools!tools_maker_id_fkey(name)&id=eq.2 | 200 [{"name":["plane"]}]
  GET /tools?select=name,...sheds(title)&order=id&sheds.order=id.desc
    200 [{"name":"saw","title":["south","north"]},{"name":"drill","title":["north"]},
      +{"name":"plane","title":[]},{"name":"relic","title":[]}]
  GET /makers?select=name,...pricey(dear:name)&order=id
    200 [{"name":"Bosk","dear":["drill"]},{"name":"Ryo","dear":["plane"]},{"name":"Idle",
      +"dear":[]}]
  GET /makers?select=name,...pricey!inner(dear:name,...manuals(pages))&order=id
    200 [{"name":"Bosk","dear":["drill"],"pages":[40]},{"name":"Ryo","dear":["plane"],
      +"pages":[null]}]
  // A to-one spread stays what it is.
  GET /tools?select=name,...makers(maker:name)&id=gt.2&order=id
    200 [{"name":"plane","maker":"Ryo"},{"name":"relic","maker":null}]
`;

const notImplemented = errorBody(
  "PGRST127 | Feature not implemented | Aggregates are not implemented for one-to-many or many-to-many spreads.",
);

suite.rows("aggregates", [
  ["GET /makers?select=name,...tools(price.sum())", {}, 400, notImplemented],
  ["GET /makers?select=name,...tools(count())", {}, 400, notImplemented],
  ["GET /makers?select=name,...tools(name,...manuals(pages.max()))", {}, 400, notImplemented],
  ["GET /tools?select=name,...makers(...tools(price.sum()))", {}, 400, notImplemented],
  ["GET /sheds?select=title,tools(...tool_sheds(qty.sum()))", {}, 400, notImplemented],
  // Not of the spread: of an embed in it, or of the level that has it.
  reads("/makers?select=name,...tools(manuals(pages.sum()))&order=id&tools.order=id", [
    { name: "Bosk", manuals: [{ sum: 12 }, { sum: 40 }] },
    { name: "Ryo", manuals: [{ sum: null }] },
    { name: "Idle", manuals: [] },
  ]),
  reads("/makers?select=id.sum(),...tools(of:maker_id)&id=eq.1", [{ sum: 1, of: [1, 1] }]),
]);

suite.answers("results of functions and of writes")`
  GET /rpc/one_tool?tool=1&select=name,...sheds(title)&sheds.order=id
    200 {"name":"saw","title":["north","south"]}
  PATCH /makers?id=eq.1&select=name,...tools(tool:name)&tools.order=id as writer
    Prefer: return=representation
    with {"city":"Bonn"}
    200 [{"name":"Bosk","tool":["saw","drill"]}]
  GET /makers?select=name,...tools(tool:name)&id=eq.1&tools.order=id {Accept: text/csv}
    200 "name,tool\nBosk,\"[\"\"saw\"\", \"\"drill\"\"]\""
`;

suite.test("more columns than PostgreSQL takes are its error", async (api) => {
  const wide = "id,".repeat(2000);
  const select = "...tools(...makers(".repeat(12) + wide + "name" + "))".repeat(12);
  for (const path of [`/makers?select=${select}`, `/makers?select=${wide}name`]) {
    const response = await api(`GET ${path}`);
    strictEqual(response.status, 500);
    strictEqual((await response.json()).message, "target lists can have at most 1664 entries");
  }
});

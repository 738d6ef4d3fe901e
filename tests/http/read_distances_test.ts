/** Distances, similarity and full-text search in values, and the operators of pg_trgm. */
import { match, strictEqual } from "node:assert/strict";
import { btree_gist } from "@electric-sql/pglite/contrib/btree_gist";
import { cube } from "@electric-sql/pglite/contrib/cube";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { apiSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";
import type { Engine } from "../support/database/engines.ts";
import { missingOnServer } from "../support/database/extensions.ts";

const config = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbPlanEnabled: true,
  serverQueryMethod: true,
};
const skippedOnServer = await missingOnServer("pg_trgm", "btree_gist", "cube");
const suites = (["pg", "pglite"] as const satisfies readonly Engine[]).map((engine) =>
  apiSuite("distances", { ...config, dbPreRequest: { schema: "api", name: "use_indexes" } }, {
    title: "distances",
    engines: [engine],
    roles: ["anon", "outsider", "writer"],
    pgliteExtensions: { btree_gist, cube, pg_trgm },
    skipped: engine === "pg" ? skippedOnServer : null,
  })
);
const without = apiSuite("tools", { ...config, dbAggregatesEnabled: true }, {
  title: "distances without extensions",
});

const failure = (code: string, message: string, hint: string | null = null) =>
  errorBody(`${code} | ${message} |  | ${hint ?? ""}`);
const ids = (...list: readonly number[]) => list.map((id) => ({ id }));
const missing = (name: string, column: string, type: string) =>
  failure(
    "SVC167",
    `'${name}' is not available for '${column}' of type ${type}`,
    "Is the extension installed?",
  );

const nearest = (column: string, q: string) =>
  `GET /places?select=id&order=${column}.distance(@q)&limit=3&@q=${q}`;

const distances: readonly Row[] = [
  [nearest("loc", "(1,2)"), {}, 200, ids(1, 3, 2)],
  [nearest("area", "(9,9)"), {}, 200, ids(2, 3, 1)],
  [nearest("shape", "(1,2)"), {}, 200, ids(1, 3, 2)],
  [nearest("spot", "(5,5)"), {}, 200, ids(2, 3, 1)],
  [nearest("opened", "2024-01-01"), {}, 200, ids(1, 3, 2)],
  ...answers()`
    GET /places?select=id&order=floors.distance(3),id&limit=2 | 200 [{"id":2},{"id":3}]
    GET /places?select=id&order=floors::float8.distance('1.1')&limit=1 | 200 [{"id":1}]
    GET /places?select=id,d:loc.distance('(1,2)').round()&id=lt.4&order=d
      200 [{"id":1,"d":0},{"id":3,"d":1},{"id":2,"d":5}]
    GET /places?select=id&and=(loc.distance(@q).lt.1.5)&order=id&@q=(1,2) | 200 [{"id":1},{"id":3}]
    GET /visits?select=id,places(name)&order=places(loc.distance(@q))&@q=(5,5)
      200 [{"id":2,"places":{"name":"drill"}},{"id":1,"places":{"name":"saw"}}]
    GET /rpc/all_places?select=id&order=loc.distance('(5,5)')&limit=1 | 200 [{"id":2}]
    POST /places/$query?limit=1 with "select=id&order=loc.distance(@q)&@q=%285,5%29"
      Content-Type: application/x-www-form-urlencoded
      200 [{"id":2}]
  `,
  // The parameter of a value has no part in statement texts.
  [nearest("loc", "(1,2)'%3B drop table api.places"), {}, 400, {
    ...failure("22P02", `invalid input syntax for type point: "(1,2)'; drop table api.places"`),
  }],
  ...answers()`
    GET /places?select=id&order=loc.distance(@__proto__)&limit=1&@__proto__=(1,2) | 200 [{"id":1}]
    GET /places?select=id&order=loc.distance(@constructor)
      400 SVC166 | Parameter '@constructor' is missing
    GET /places?select=id&order=loc.distance('(1,2)').desc,loc.distance(0)&limit=1
      400 22P02 | invalid input syntax for type point: "0"
    GET /places?select=id&order=loc.__proto__('(1,2)')
      400 SVC164 | Function '__proto__' is not available in URLs
  `,
  [nearest("loc", "abc"), {}, 400, {
    ...failure("22P02", 'invalid input syntax for type point: "abc"'),
  }],
  ...answers()`
    GET /places?select=id&order=loc.distance(@q) | 400 SVC166 | Parameter '@q' is missing
    GET /places?order=loc.distance(id)&limit=1
      400 SVC165 | Invalid arguments of 'distance' | Expected distance(q)
    GET /places?order=spec.distance('1')
      400 SVC167 | 'distance' is not available for 'spec' of type jsonb |  | Is the extension
        + installed?
    GET /places?order=loc.cosine_distance('1')
      400 SVC167 | 'cosine_distance' is not available for 'loc' of type point |  | Is the extension
        + installed?
    GET /places?order=id.add(1).distance(1)
      400 SVC167 | 'distance' is not available for 'id' of type unknown |  | Is the extension
        + installed?
    GET /places?select=id&order=loc.distance('(1,2)')&limit=1&after=
      400 SVC171 | A cursor cannot be combined with a distance order
    // A role without USAGE of the extension's schema.
    GET /places?select=id&order=shape.distance('(1,2)')&limit=1 as outsider
      403 42501 | permission denied for schema ext
    GET /places?select=id&order=loc.distance('(1,2)')&limit=1 as outsider | 200 [{"id":1}]
  `,
];

const similarity: readonly Row[] = [
  ...answers()`
    GET /places?select=id&name=sim.saww&order=id | 200 [{"id":1}]
    GET /places?select=id&label=sim.saw mil&order=id | 200 [{"id":1}]
    GET /places?select=id&about=wsim.children&order=id | 200 [{"id":3}]
    GET /places?select=id&about=swsim.children&order=id | 200 [{"id":3}]
    GET /places?select=id&name=not.sim.saw&id=lt.4&order=id | 200 [{"id":2}]
    GET /places?select=id&or=(name.sim.saww,and(id.eq.2,name.not.sim.saw))&order=id
      200 [{"id":1},{"id":2}]
    GET /places?select=id&spec->>name=sim.saww&order=id | 200 [{"id":1}]
    GET /places?select=id&shout=sim.SAWW&order=id&id=lt.4 | 200 [{"id":1}]
    GET /places?select=id&name=sim.' or true -- | 200 []
    GET /places?select=id&order=name.similarity_distance(seesa),id&limit=1
      400 SVC165 | Invalid arguments of 'similarity_distance' | Expected similarity_distance(q)
    GET /places?select=id&order=name.similarity_distance('seesa')&limit=1 | 200 [{"id":3}]
    GET /places?select=id&order=label.similarity_distance('drill')&limit=1 | 200 [{"id":2}]
    GET /places?select=id&order=about.word_distance('holes')&limit=1 | 200 [{"id":2}]
    GET /places?select=id&order=about.strict_word_distance('holes')&limit=1 | 200 [{"id":2}]
    GET /places?select=s:name.similarity(@q),w:about.word_similarity(@q),
      +x:about.strict_word_similarity(@q)&id=eq.1&@q=saw
      200 [{"s":1,"w":1,"x":1}]
    GET /places?select=id&order=name.lower().similarity('SAW').desc,id&limit=1 | 200 [{"id":1}]
    GET /places?floors=sim.1
      400 SVC167 | 'sim' is not available for 'floors' of type integer |  | Is the extension
        + installed?
    GET /places?select=floors.similarity('1')
      400 SVC167 | 'similarity' is not available for 'floors' of type integer |  | Is the extension
        + installed?
    GET /places?name=sim.saw&select=id as outsider | 403 42501 | permission denied for schema ext
    // An argument keeps its meaning where a function has such a parameter.
    GET /rpc/echo?name=sim.x | 200 "sim.x"
    GET /rpc/echo?name=id(col).x | 200 "id(col).x"
    GET /rpc/echo?name=gt(col).x | 200 "gt(col).x"
    GET /rpc/all_places?name=sim.saww&select=id | 200 [{"id":1}]
    PATCH /places?name=sim.saww&select=id as writer with {"floors":9}
      Prefer: return=representation
      200 [{"id":1}]
    DELETE /places?about=wsim.children&select=id {Prefer: return=representation} as writer
      200 [{"id":3}]
  `,
];

const search: readonly Row[] = [
  ...answers()`
    GET /places?select=id&order=doc.ts_rank(wfts,@q,english).desc,id&limit=2&@q=wood
      200 [{"id":3},{"id":1}]
    GET /places?select=id&order=about.ts_rank_cd(plfts,'wood','english').desc,id&limit=2
      200 [{"id":3},{"id":1}]
    GET /places?select=h:about.ts_headline(fts,'drill',english)&id=eq.2
      200 [{"h":"A <b>drill</b> makes holes in wood and stone"}]
    GET /places?select=h:about.ts_headline(phfts,@q,english,'StartSel=*,
      + StopSel=*')&id=eq.1&@q=cuts wood
      200 [{"h":"A saw *cuts* *wood*"}]
    GET /places?select=h:spec.ts_headline(wfts,'saw',simple)&id=eq.1
      200 [{"h":{"name":"<b>saw</b>"}}]
    GET /places?select=id&and=(doc.ts_rank(wfts,stones,english).gt.0)
      400 SVC165 | Invalid arguments of 'ts_rank' | Expected ts_rank(kind,q[,lang])
    GET /places?select=id&and=(doc.ts_rank(wfts,'stones',english).gt.0) | 200 [{"id":2}]
    GET /places?select=doc.ts_rank(eq,'a')
      400 SVC165 | Invalid arguments of 'ts_rank' | Expected ts_rank(kind,q[,lang])
    GET /places?select=doc.ts_rank(wfts)
      400 SVC165 | Invalid arguments of 'ts_rank' | Expected ts_rank(kind,q[,lang])
    GET /places?select=doc.ts_rank(wfts,'a',nope)&id=eq.1
      400 42704 | text search configuration "nope" does not exist
    GET /places?select=doc.ts_rank(wfts,'a','english''::regconfig) or true --')&id=eq.1
      400 42602 | invalid name syntax
    GET /places?select=doc.ts_rank(fts,'a b',english)&id=eq.1
      400 42601 | syntax error in tsquery: "a b"
  `,
];

for (const suite of suites) {
  suite.rows("distances", distances);
  suite.rows("similarity", similarity);
  suite.rows("full-text search", search);
  suite.test("an order by a distance reads the index", async (api) => {
    const plan = { headers: { Accept: "application/vnd.svc.plan+text; options=analyze" } };
    for (
      const line of [
        "GET /places?select=id&order=loc.distance(@q)&limit=2&@q=(1,2)",
        "GET /places?select=id,visits(id)&floors=gt.0&order=loc.distance(@q)&limit=2&@q=(1,2)",
        "GET /places?select=id&order=name.similarity_distance(@q)&limit=2&@q=saw",
      ]
    ) {
      const response = await api(line, plan);
      strictEqual(response.status, 200);
      match(await response.text(), /Index Scan using .*\n *Order By: /);
    }
  });
}

without.rows("missing extensions", [
  ["GET /tools?order=name.distance('a')", {}, 400, missing("distance", "name", "text")],
  ["GET /tools?name=sim.saw", {}, 400, missing("sim", "name", "text")],
  ["GET /tools?or=(name.wsim.saw,id.eq.1)", {}, 400, missing("wsim", "name", "text")],
  ["GET /tools?select=name.similarity('saw')", {}, 400, missing("similarity", "name", "text")],
  ["GET /tools?select=count()&having=(count.sim.1)", {}, 400, missing("sim", "count", "unknown")],
  ...answers()`
GET /tools?select=name.distanc('a') | 400 SVC164 | Function 'distanc' is not available in URLs |  | Perhaps you meant 'distance'
`,
]);

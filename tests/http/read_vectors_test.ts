/** Distances of pgvector and PostGIS. */
import { match, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody, type Row } from "../support/handler/rows.ts";
import { missingOnServer, pgliteVector } from "../support/database/extensions.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon", dbPlanEnabled: true };
const indexed = { ...config, dbPreRequest: { schema: "api", name: "use_indexes" } };
const vectors = [
  serviceSuite("vectors", indexed, { title: "vectors", skipped: await missingOnServer("vector") }),
  apiSuite("vectors", indexed, {
    title: "vectors",
    engines: ["pglite"],
    pgliteExtensions: await pgliteVector(),
  }),
];
const geography = serviceSuite("geography", config, {
  title: "geography",
  skipped: await missingOnServer("postgis"),
});

const ids = (...list: readonly number[]) => list.map((id) => ({ id }));
const failure = (code: string, message: string, hint: string | null = null) =>
  errorBody(`${code} | ${message} |  | ${hint ?? ""}`);
const nearest = (value: string, q: string) =>
  `GET /docs?select=id&order=${value}(@q)&limit=2&@q=${q}`;

const rows: readonly Row[] = [
  [nearest("embedding.l2_distance", "[1,0.1,0]"), {}, 200, ids(1, 3)],
  [nearest("embedding.distance", "[1,0.1,0]"), {}, 200, ids(1, 3)],
  [nearest("embedding.cosine_distance", "[0,1,0.1]"), {}, 200, ids(2, 3)],
  [nearest("embedding.l1_distance", "[1,0.9,0]"), {}, 200, ids(3, 1)],
  [nearest("embedding.max_inner_product", "[1,0.1,0]"), {}, 200, ids(3, 1)],
  [nearest("own.l2_distance", "[1,0.1,0]"), {}, 200, ids(1, 3)],
  [nearest("half.cosine_distance", "[0,1,0.1]"), {}, 200, ids(2, 3)],
  [nearest("embedding::halfvec.cosine_distance", "[0,1,0.1]"), {}, 400, {
    ...failure("42704", 'type "halfvec" does not exist'),
  }],
  [nearest("sparse.l2_distance", "{1:1}/3"), {}, 200, ids(1, 3)],
  ...answers()`
    GET /docs?select=id&order=bits.hamming_distance('1100'),id&limit=1&id=lt.4 | 200 [{"id":2}]
    GET /docs?select=id&order=bits.jaccard_distance('1111'),id&limit=1&id=lt.4 | 200 [{"id":3}]
    GET /docs?select=id,score:embedding.cosine_distance(@q).round()
      +&order=embedding.cosine_distance(@q)&@q=[1,0,0]&lang=eq.en&limit=2
      200 [{"id":1,"score":0},{"id":2,"score":1}]
    GET /notes?select=id,...docs(d:embedding.l2_distance(@q))&order=id&@q=[1,1,0]
      200 [{"id":1,"d":1},{"id":2,"d":0}]
    GET /docs?select=embedding&id=eq.1 | 200 [{"embedding":"[1,0,0]"}]
  `,
  [nearest("embedding.cosine_distance", "[1,2]"), {}, 400, {
    ...failure("22000", "expected 3 dimensions, not 2"),
  }],
  [nearest("embedding.cosine_distance", "[1,2,x]"), {}, 400, {
    ...failure("22P02", 'invalid input syntax for type vector: "[1,2,x]"'),
  }],
  [nearest("embedding.cosine_distance", "[1,2,NaN]"), {}, 400, {
    ...failure("22000", "NaN not allowed in vector"),
  }],
  [nearest("embedding.box_distance", "[1,2,3]"), {}, 200, ids(3, 2)],
  [nearest("bits.cosine_distance", "1111"), {}, 400, {
    ...failure(
      "SVC167",
      "'cosine_distance' is not available for 'bits' of type bit",
      "Is the extension installed?",
    ),
  }],
];

for (const suite of vectors) {
  suite.rows("vectors", rows);
  suite.test("a vector of too many dimensions is refused by PostgreSQL", async (api) => {
    const q = `[${"1,".repeat(20_000)}1]`;
    const response = await api(`GET /docs?select=id&order=embedding.l2_distance(@q)&@q=${q}`);
    strictEqual(response.status, 413);
    match(await response.text(), /vector cannot have more than 16000 dimensions/);
  });
  suite.test("nearest rows come from the index, with a filter and an embed too", async (api) => {
    const plan = { headers: { Accept: "application/vnd.svc.plan+text; options=analyze" } };
    const order = "order=embedding.cosine_distance(@q)&limit=10&@q=[1,2,3]";
    for (const query of [`select=id&${order}`, `select=id,notes(id)&lang=neq.de&${order}`]) {
      // The third request has the cached plan of its shape.
      for (let time = 0; time < 3; time++) {
        const response = await api(`GET /docs?${query}`, plan);
        match(await response.text(), /Index Scan using docs_embedding .*\n *Order By: /);
      }
    }
  });
}

const berlin = "SRID=4326%3BPOINT(13.4 52.5)";

geography.rows("PostGIS", [
  [`GET /cities?select=id&order=place.distance(@q)&limit=2&@q=${berlin}`, {}, 200, ids(1, 2)],
  [`GET /cities?select=id&order=shape.distance(@q)&limit=2&@q=${berlin}`, {}, 200, ids(1, 2)],
  [`GET /cities?select=id&order=shape.box_distance(@q)&limit=2&@q=${berlin}`, {}, 200, ids(1, 2)],
  [`GET /cities?select=id,km:place.distance(@q).div(1000).round()&id=eq.3&@q=${berlin}`, {}, 200, [
    { id: 3, km: 877 },
  ]],
  [`GET /cities?select=id&order=place.box_distance(@q)&@q=${berlin}`, {}, 400, {
    ...failure(
      "SVC167",
      "'box_distance' is not available for 'place' of type ext.geography",
      "Is the extension installed?",
    ),
  }],
]);

/** Which live query a shape of Electric's is, and what is refused. */
import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { splitQuery } from "../../../../src/api/request/url/query_string.ts";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import { readShape } from "../../../../src/wings/live/shape.ts";
import { relation } from "../../../support/handler/reading.ts";

const cache = indexSchemaCache({
  relations: [
    relation("orders", "id:integer größe:api.size[] limit:bigint at:timestamp"),
    { ...relation("notes", "id:bool"), schema: "other" },
  ],
  relationships: [],
  routines: [],
  representations: [],
  mediaHandlers: [],
  volatileFunctions: [],
});
const catalogue = { config: { dbSchemas: ["api", "other"] }, cache, cacheError: null };

function shapeOf(query: string, profile: string | null = null) {
  return readShape(splitQuery(query), profile, catalogue);
}

/** The parameters of the live query but for `select`, decoded. */
function filtersOf(where: string, params = ""): string {
  const { query } = shapeOf(`table=orders&columns=id${params}&where=${encodeURIComponent(where)}`);
  const filters = splitQuery(query).filter(({ name }) => name !== "select");
  return filters.map(({ name, value }) => `${name}=${value}`).join("&");
}

const conditions: readonly (readonly [where: string, filters: string, params?: string])[] = [
  ["status = 'open'", "status=eq.open"],
  ["Status='it''s \"a\" \\'", `status=eq.it's "a" \\`],
  ['"Status" <> 1', "Status=neq.1"],
  ['"a""b.c" != 1.5', '"a\\"b.c"=neq.1.5'],
  ["naïve >= -1e3", "naïve=gte.-1e3"],
  ["a=- 2", "a=eq.-2"],
  ["a<-.5 and b > 5.", "a=lt.-.5&b=gt.5."],
  ["a <= TRUE AND b = False", "a=lte.TRUE&b=eq.False"],
  ['"limit" = 1 and "offset" = 2 and live = 3', '"limit"=eq.1&"offset"=eq.2&live=eq.3'],
  ["id > 1 AND (id < 5)", "id=gt.1&id=lt.5"],
  ["a = 1 or b = 'x,)\"\\'", String.raw`or=(a.eq."1",b.eq."x,)\"\\")`],
  ["a = 1 and (b = 2 or c = 3 and d = 4)", 'a=eq.1&or=(b.eq."2",and(c.eq."3",d.eq."4"))'],
  ["not a = 1 and b = 2", 'b=eq.2&not.and=(a.eq."1")'],
  ["not (a = 1 or b = 2)", 'not.and=(or(a.eq."1",b.eq."2"))'],
  ["not not a = 1", 'not.and=(not.and(a.eq."1"))'],
  ["a in (1, -2, 'x\"')", String.raw`a=in.("1","-2","x\"")`],
  ["a in ('')", "a=eq."],
  ["a not in (1,2)", 'not.and=(a.in.("1","2"))'],
  ["a like '_b%' and c ilike 'x'", "a=like._b%&c=ilike.x"],
  ["a not like 'b%'", 'not.and=(a.like."b%")'],
  ["a is null and b is not null", "a=is.null&not.and=(b.is.null)"],
  ["a is true or b is not false", "or=(a.is.true,not.and(b.is.false))"],
  ["a between 1 and 2 and b = 3", "a=gte.1&a=lte.2&b=eq.3"],
  ["a between 1 and 2", "a=gte.1&a=lte.2"],
  ["a not between 1 and 2", 'not.and=(a.gte."1",a.lte."2")'],
  ["(a = 1 and b = 2) and c = 3", "a=eq.1&b=eq.2&c=eq.3"],
  ['"user" = 1 and current_price = 2', "current_price=eq.2&user=eq.1"],
  ["id = 1 and größe = 'x' and \"limit\" = '1'", '"limit"=eq.1&größe=eq.x&id=eq.1'],
  ["at < $1", "at=lt.2026", "&params[1]=2026"],
  [
    "a = $1 and b in ($2,$10)",
    'a=eq.x y&b=in.("","z")',
    "&params[1]=x+y&params%5B2%5D=&params[10]=z",
  ],
];

for (const [where, filters, params] of conditions) {
  Deno.test(`readShape() filters by ${where}`, () => {
    strictEqual(filtersOf(where, params), filters);
  });
}

const deep = `${"(".repeat(60)}a = 1${")".repeat(60)}`;

/** The condition, and the details of the refusal. */
const refusals: readonly (readonly [where: string, part: string])[] = [
  ["lower(a) = 'x'", "'lower(a) = 'x''"],
  ["orders.a = 1", "'orders.a = 1'"],
  ["a = b", "'b'"],
  ["1 = a", "'1 = a'"],
  ["a = null", "'null'"],
  ["a = 'x'::uuid", "'::uuid'"],
  ["a->'b' = 1", "'a->'b' = 1'"],
  ["a = any($1)", "'any($1)'"],
  ["a in (select 1)", "'select 1)'"],
  ["a in ()", "')'"],
  ["a is distinct from 1", "'distinct from 1'"],
  ["a not = 1", "'a not = 1'"],
  ["a = $1", "'$1'"],
  ["a = $", "'$'"],
  ["a = - 'x'", "'- 'x''"],
  ["a like 'b*'", "''b*''"],
  ["a = 1 -- x", "'-- x'"],
  ["a = 1; drop", "'; drop'"],
  ["a = E'x'", "'E'x''"],
  ["a = 'x", "''x'"],
  ["a = '", "'''"],
  ['a = "', "'\"'"],
  ['" = 1', "'\" = 1'"],
  ["a = 1)", "')'"],
  ["(a = 1", "a text that ends here"],
  ["a", "'a'"],
  ["user = 'x'", "'user = 'x''"],
  ["a = 1 or CURRENT_DATE > b", "'CURRENT_DATE > b'"],
  ["at = 1.1", "'1.1'"],
  ["größe in ('{}', -1)", "'-1)'"],
  ["id = true", "'true'"],
  ["a = --1", "'--1'"],
  ["a = 1 and", "a text that ends here"],
  ["and = 1", "'and = 1'"],
  [deep, `'${deep.slice(50, 110)}…'`],
  [`${"not ".repeat(9000)}a = 1`, `'${"not ".repeat(15)}…'`],
];

for (const [where, part] of refusals) {
  Deno.test(`readShape() refuses ${where.slice(0, 60)}`, () => {
    throws(() => filtersOf(where), (error) => {
      const { code, status, details } = (error as ServiceError).fields;
      deepStrictEqual([code, status, details], ["186", 400, `No support for ${part}`]);
      return true;
    });
  });
}

const targets: readonly (readonly [query: string, profile: string | null, ...string[]])[] = [
  ["table=orders&columns=id", null, "/orders", "-", "id::text"],
  ["table=ORDERS&columns=ID,%22Id%22", "api", "/orders", "api", "id::text,Id::text"],
  ["table=other.notes", "api", "/notes", "other", "id::text"],
  ["table=%22or%22%22ders%22&columns=id", null, "/or%22ders", "-", "id::text"],
  ["table=orders", null, "/orders", "-", 'id::text,größe::text,"limit"::text,at::text'],
];

for (const [query, accepted, ...expected] of targets) {
  Deno.test(`readShape() finds the rows of ${query} in ${accepted}`, () => {
    const { path, profile, query: read } = shapeOf(query, accepted);
    deepStrictEqual([path, profile ?? "-", splitQuery(read)[0]?.value], expected);
  });
}

Deno.test("readShape() returns types as Electric names them, in ASCII", () => {
  strictEqual(
    shapeOf("table=orders").schema,
    '{"id":{"type":"int4","dims":0},"gr\\u00f6\\u00dfe":{"type":"size","dims":1},' +
      '"limit":{"type":"int8","dims":0},"at":{"type":"timestamp","dims":0}}',
  );
});

const wrongParams = [
  ["table=a.b.c", "the table 'a.b.c'"],
  ["", "a text that ends here"],
  ["table=orders&columns=id%20x", "'x'"],
  ["table=orders&subset__limit=1", "the parameter 'subset__limit'"],
  ["table=orders&id=eq.1", "the parameter 'id'"],
  ["table=orders&where=a%3D1&where=b%3D1", "the parameter 'where'"],
] as const;

for (const [query, part] of wrongParams) {
  Deno.test(`readShape() refuses the parameters ${query}`, () => {
    throws(() => shapeOf(query), (error) => {
      const { code, details } = (error as ServiceError).fields;
      deepStrictEqual([code, details], ["186", `No support for ${part}`]);
      return true;
    });
  });
}

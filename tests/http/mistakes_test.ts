/** Mistakes of newcomers on the shop: the answer, and the corrected request, which succeeds. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { linesOf, readRequest } from "../support/handler/rows.ts";

/** Claims of the tokens. */
const callers = {
  ada: { role: "shop_customer", sub: "1" },
  grace: { role: "shop_staff", sub: "1" },
} as const;

/** Reads a request whose role is a name of `callers`. */
function readCall(text: string): readonly [line: string, parts: RequestParts] {
  const [line, { as, ...parts }] = readRequest(text);
  return [line, as === undefined ? parts : { ...parts, as: callers[as as keyof typeof callers] }];
}

/** A request with a mistake, the code and the hint of its error, and the corrected request. */
type Mistake = readonly [
  line: string,
  parts: RequestParts,
  code: string,
  hint: string | null,
  corrected: string,
  correctedParts?: RequestParts,
];

/** Mistakes of `GET` without a token: request, code, hint, corrected request. */
const reads = `
/product | SVC205 | Perhaps you meant the table 'api.products' | /products?limit=1
/prodcuts | SVC205 | Perhaps you meant the table 'api.products' | /products?limit=1
/products/1 | SVC125 | Write /products?id=eq.1 | /products?id=eq.1
//products | SVC125 | Write /products | /products?limit=1
/v1/products | SVC125 | Write /products | /products?limit=1
/product/1 | SVC125 | Write /products?id=eq.1 | /products?id=eq.1
/api/products | SVC125 | Write /products | /products?limit=1
/search?words=oak | SVC100 | Write /rpc/search?words=oak | /rpc/search?words=oak
/products?price=5 | SVC100 | Write price=eq.5 | /products?price=eq.5
/products?price=gte5 | SVC100 | Write price=gte.5 | /products?price=gte.5
/products?price=>5 | SVC100 | Write price=gt.5 | /products?price=gt.5
/products?price>=5 | SVC100 | Write price=gte.5 | /products?price=gte.5
/products?price<=5 | SVC100 | Write price=lte.5 | /products?price=lte.5
/products?price!=5 | SVC100 | Write price=neq.5 | /products?price=neq.5
/products?price>5 | SVC196 | Write price=gt.5 | /products?price=gt.5
/products?price<5 | SVC196 | Write price=lt.5 | /products?price=lt.5
/products?price<>5 | SVC196 | Write price=neq.5 | /products?price=neq.5
/products?limit=abc | SVC196 |  | /products?limit=1
/products?limit=eq.5 | SVC196 | To filter a column of this name, write "limit"=eq.<value> | /products?limit=1
/products/ | SVC125 | Write /products | /products?limit=1
/rest/v1/products?limit=1 | SVC125 | Write /products, or set server-path-prefix | /products?limit=1
/auth/v1/user | SVC125 | docs/how-to/move-from-supabase.md names what replaces auth | /products?limit=1
/products?id=in.[1,2] | SVC100 | Write id=in.(1,2) | /products?id=in.(1,2)
/products?id=IN.(1,2) | SVC100 | Write id=in.(1,2) | /products?id=in.(1,2)
/products?price=Eq.5 | SVC100 | Write price=eq.5 | /products?price=eq.5
/products?price=NE.5 | SVC100 | Write price=neq.5 | /products?price=neq.5
/products?category_id=is.not.null | SVC100 | Write category_id=is.not_null | /products?category_id=is.not_null
/products?category_id=is.notnull | SVC100 | Write category_id=is.not_null | /products?category_id=is.not_null
/products?category_id=eq.null | 22P02 | Write category_id=is.null | /products?category_id=is.null
/products?category_id=neq.null | 22P02 | Write category_id=is.not_null | /products?category_id=is.not_null
/products?or=(price=5,stock>1) | SVC100 | Write or=(price.eq.5,stock.gt.1) | /products?or=(price.eq.5,stock.gt.1)
/products?order=price:desc | SVC100 | Write order=price.desc | /products?order=price.desc
/products?select=id,name as title | 42703 | Write select=id,title:name | /products?select=id,title:name
/products?tags=cs.oak | 22P02 | Write tags=cs.{oak} | /products?tags=cs.{oak}
/products?tags=ov.[oak,ash] | 22P02 | Write tags=ov.{oak,ash} | /products?tags=ov.{oak,ash}
/products?released=eq.31.12.2020 | 22008 | The column released is date | /products?released=eq.2020-12-31
/rpc/search/?words=oak | SVC125 | Write /rpc/search | /rpc/search?words=oak
/products?price=!eq.5 | SVC100 | Write price=not.eq.5 | /products?price=not.eq.5
/products?price=between.1,9 | SVC100 | Write and=(price.gte.1,price.lte.9) | /products?and=(price.gte.1,price.lte.9)
/products?price=ne.5 | SVC100 | Write price=neq.5 | /products?price=neq.5
/products?id=in.1,2 | SVC100 | Write id=in.(1,2) | /products?id=in.(1,2)
/products?id=in.(1,2 | SVC100 | Write id=in.(1,2) | /products?id=in.(1,2)
/products?name=like*oak* | SVC100 | Write name=like.*oak* | /products?name=like.*oak*
/products?category_id=is.nothing | SVC100 | Write category_id=is.null | /products?category_id=is.null
/products?pirce=eq.1 | 42703 | Perhaps you meant to reference the column "products.price". | /products?price=eq.1
/products?price=eq.abc | 22P02 | The column price is numeric | /products?price=eq.9.5
/products?or=price.lt.5,stock.eq.0 | SVC100 | Write or=(price.lt.5,stock.eq.0) | /products?or=(price.lt.5,stock.eq.0)
/products?or=(price.lt.5,stock.eq.0 | SVC100 | Write or=(price.lt.5,stock.eq.0) | /products?or=(price.lt.5,stock.eq.0)
/products?details.size=eq.1 | SVC108 | Write details->>size=eq.1 | /products?details->>size=eq.1
/products?categories.name=eq.Chairs | SVC108 | Verify that 'categories' is included in the 'select' query parameter. | /products?select=*,categories!inner(name)&categories.name=eq.Chairs
/products?select=name,pirce | 42703 | Perhaps you meant to reference the column "products.price". | /products?select=name,price
/products?select=name price | 42703 | Write select=name,price | /products?select=name,price
/products?select=name,,price | SVC100 | Write select=name,price | /products?select=name,price
/products?select=name,categories | 42703 | Write categories(*) | /products?select=name,categories(*)
/products?select=name,category(name) | SVC200 | Perhaps you meant 'categories' instead of 'category'. | /products?select=name,categories(name)
/products?select=name,countries(name) | SVC200 | Write suppliers(countries(name)) | /products?select=name,suppliers(countries(name))
/products?select=name,categories(name | SVC100 | Write select=name,categories(name) | /products?select=name,categories(name)
/products?select=count(*) | SVC100 | Write select=count() | /products?select=count()
/products?select=price.sums() | SVC164 | Perhaps you meant 'sum' | /products?select=price.sum()
/products?select=released::dat | 42704 | Perhaps you meant ::date | /products?select=released::date
/products?order=pirce | 42703 | Perhaps you meant to reference the column "products.price". | /products?order=price
/products?order=price.descending | SVC100 | Write order=price.desc | /products?order=price.desc
/products?order=-price | SVC100 | Write order=price.desc | /products?order=price.desc
/products?order=price desc | 42703 | Write order=price.desc | /products?order=price.desc
/products?page=2 | SVC100 | Write limit=20&offset=20 | /products?limit=20&offset=20
/products?sort=-price | SVC100 | Write order=price.desc | /products?order=price.desc
/products?fields=name,price | SVC100 | Write select=name,price | /products?select=name,price
/products?where=price > 5 | SVC100 | Write price=gt.5 | /products?price=gt.5
/products?price[gte]=5 | SVC100 | Write price=gte.5 | /products?price=gte.5
/products?price.gte=5 | SVC100 | Write price=gte.5 | /products?price=gte.5
/products?filter[price]=5 | SVC100 | Write price=eq.5 | /products?price=eq.5
/products?price__lt=5 | SVC100 | Write price=lt.5 | /products?price=lt.5
/products?select=category_id&group=category_id | SVC100 | products has no column group | /products?select=category_id,count()
/products?select=name,categories.name | SVC100 | Write select=name,categories(name) | /products?select=name,categories(name)
/products?select=max(price) | SVC200 | Write price.max() | /products?select=price.max()
/products?tags=eq.oak | 22P02 | Write tags=cs.{oak} | /products?tags=cs.{oak}
/products.json | SVC205 | Perhaps you meant the table 'api.products' | /products?limit=1
/rpc/serach?words=oak | SVC202 | Perhaps you meant /rpc/search with words | /rpc/search?words=oak
/rpc/search?word=oak | SVC202 | Perhaps you meant to call the function api.search(words) | /rpc/search?words=oak
/rpc/products | SVC202 | Write /products | /products?limit=1
/rpc/search | SVC202 | Perhaps you meant /rpc/search with words | /rpc/search?words=oak
`;

const mistakes: readonly Mistake[] = [
  ...reads.trim().split("\n").map((text): Mistake => {
    const [line, code, hint, corrected] = text.split(" | ") as [string, string, string, string];
    return [`GET ${line}`, {}, code, hint || null, `GET ${corrected}`];
  }),
  ...linesOf`
    GET /orders?status=eq.payed as ada | 22P02 | Write one of: new, paid, sent, returned |
      + GET /orders?status=eq.paid as ada
    GET /rpc/pay?order_id=3901 as grace | 25006 | The function writes: call it with POST. |
      + POST /rpc/pay as grace with {"order_id":3901}
    POST /products as grace with {"sku":"P-0601","name":"Stool","price":9,"pirce":1} | SVC204 |
      + Perhaps you meant 'price' |
      + POST /products as grace with {"sku":"P-0601","name":"Stool","price":9}
    POST /products as grace with [null] | SVC102 |
      + Send objects that all have the same keys, or name the columns: columns=<names> |
      + POST /products as grace with [{"sku":"P-0601","name":"Stool","price":9}]
    PATCH /orders?id as grace with {"status":"paid"} | SVC196 |
      + To filter a column of this name, write "id"=eq.<value> |
      + PATCH /orders?id=eq.3901 as grace with {"status":"paid"}
    PATCH /orders?id=eq.3901 as grace with {"status":"payed"} | 22P02 |
      + Write one of: new, paid, sent, returned |
      + PATCH /orders?id=eq.3901 as grace with {"status":"paid"}
    POST /products?on_conflict=name {Prefer: resolution=merge-duplicates} as grace
      + with {"sku":"P-0601","name":"Stool","price":9} | 42P10 |
      + Write on_conflict=id or on_conflict=sku |
      + POST /products?on_conflict=sku {Prefer: resolution=merge-duplicates} as grace
      + with {"sku":"P-0601","name":"Stool","price":9}
    POST /products as grace with {"sku":"P-0001","name":"Stool","price":9} | 23505 |  |
      + POST /products?on_conflict=sku {Prefer: resolution=merge-duplicates} as grace
      + with {"sku":"P-0001","name":"Stool","price":9}
    POST /reviews as ada with {"product_id":9999,"stars":5} | 23503 |  |
      + POST /reviews as ada with {"product_id":1,"stars":5}
    PATCH /customers?id=eq.1 as grace with {"email":"ada"} | 23514 |  |
      + PATCH /customers?id=eq.1 as grace with {"email":"ada@example.org"}
    POST /products as grace with {"sku":"P-0602","name":"Stool","price":-9} | 23514 |  |
      + POST /products as grace with {"sku":"P-0602","name":"Stool","price":9}
    POST /rpc/search {Content-Type: application/x-www-form-urlencoded} with "{\"words\":\"oak\"}" |
      + SVC202 | The body was read as a form: send Content-Type: application/json |
      + POST /rpc/search with {"words":"oak"}
    GET /orders | 42501 | grant select on api.orders to web_anon; | GET /orders?limit=1 as ada
    GET /orders {Authorization: eyJhbGciOiJIUzI1NiJ9.e30.x} | 42501 |
      + Write Authorization: Bearer and the token: the request ran as web_anon |
      + GET /orders?limit=1 as ada
    POST /products as ada with {"sku":"P-0601","name":"Stool","price":9} | 42501 |
      + grant insert on api.products to shop_customer; |
      + POST /products as grace with {"sku":"P-0601","name":"Stool","price":9}
  `.map((text): Mistake => {
    const [request = "", code = "", hint = "", corrected = ""] = text.split(" | ");
    return [...readCall(request), code, hint || null, ...readCall(corrected)];
  }),
];

const suite = serviceSuite("examples/shop/shop.sql", {
  dbSchemas: ["api"],
  dbAnonRole: "web_anon",
  dbAggregatesEnabled: true,
  dbCommentTags: true,
  clientErrorVerbosity: "advise",
}, { title: "mistakes", roles: [] });

for (const [line, parts, code, hint, corrected, correctedParts = parts] of mistakes) {
  const [, written = ""] = /^Write (\S+=\S+)$/.exec(hint ?? "") ?? [];
  suite.test(`${line} ${JSON.stringify(parts.body ?? "")}: ${hint}`, async (api) => {
    const refused = await api(line, parts);
    ok(refused.status >= 400, String(refused.status));
    const answer = await refused.json();
    deepStrictEqual([answer.code, answer.hint], [code, hint]);
    ok(corrected.includes(written), `${corrected} is not what the hint says`);
    const mended = await api(corrected, correctedParts);
    ok(mended.ok, `${corrected}: ${mended.status} ${await mended.text()}`);
  });
}

Deno.test("mistakes are at least fifty", () => ok(mistakes.length >= 50, String(mistakes.length)));

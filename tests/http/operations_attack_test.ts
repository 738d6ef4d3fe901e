/** `operations`: an attack on the comparison of requests. Each operation is varied in one place: nothing that is
 * planned otherwise may pass, and everything that is planned alike must. */
import { match, ok, strictEqual } from "node:assert/strict";
import { apiSuite } from "../support/handler/api.ts";
import { batchOf, get, patch, post, put, remove } from "../support/handler/batch.ts";
import type { RequestParts } from "../support/handler/request.ts";
import { linesOf, readRequest } from "../support/handler/rows.ts";

const operations = `
p1 anon,writer GET /places?select=id,name&id=eq.*&order=id&limit=..5&offset=..3
p2 anon GET /places?select=id,v:doc->a->>b,doc->n&doc->>n=eq.*&order=doc->n.desc.nullslast,id
p3 anon GET /places?select=id,n:name::text&id=in.(*..3)&limit=..2
p4 anon GET /places?select=id,parent(id,name)&parent.name=eq.*&order=id
p5 anon GET /places?or=(id.eq.*,and(name.like.*,id.gt.*))&select=id
p6 anon GET /places?select=name&tags=cs.*&name=not.eq.*
p7 anon GET /places?body=fts(english).*&select=id
p8 anon GET /places?select=count()
p9 anon GET /places?select=name,id.count()&having=(id.count().gt.*)
p10 anon GET /places?id=eq(any).*&select=id
p11 anon GET /places?name=isdistinct.*&select=id
p12 anon GET /places?name=is.null&select=id
p13 anon GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22c,d%22=eq.*
p14 anon GET /places?select=id&id=eq.1
p15 anon GET /places?select=id,name&order=id&limit=..2&after=*
p16 anon GET /place_names?select=*
p17 anon GET /places?distinct=name&select=name
p18 anon GET /places?select=id&name=in.(a,b)
p19 anon GET /places
p20 anon GET /places?select=id,places!parent(id)&places.order=id&places.limit=..1
cnt anon GET /places?select=id
    Prefer: count=exact
csv anon GET /places?select=id,name
    Accept: text/csv
obj anon GET /places?select=id,name&id=eq.*
    Accept: application/vnd.svc.object+json
v2p anon GET /products?select=id
    Accept-Profile: v2
f1 anon POST /rpc/over *
f2 anon POST /rpc/doc *
    Content-Type: text/plain
f3 anon GET /rpc/opt?a=*
f4 anon GET /rpc/many?v=*&v=*
f5 anon GET /rpc/rows?kind=*&select=id&id=gt.*&order=id&limit=..5
f6 anon GET /rpc/clause?limit=..5&order=*
f7 anon POST /rpc/opt {a}
f8 anon POST /rpc/vol {a}
f9 anon QUERY /rpc/opt {a}
w1 writer POST /places?select=id {id, name}
    Prefer: return=representation
w2 writer PATCH /places?id=eq.* {name="x", tags?}
w3 writer PUT /places?id=eq.* {id, name, doc, doc2, tags, at, parent, body}
w4 writer DELETE /places?id=eq.*
w5 writer POST /places []{id, name}
    Content-Type: text/csv
w6 writer POST /places {id, name}
    Content-Type: application/x-www-form-urlencoded
w7 writer PATCH /places?id=eq.*&order=id&limit=..1 {name}
w8 writer POST /orders?columns=note,lines(product_id) {note, lines[]{product_id}}
w9 writer POST /places?columns=id,name []{id, name?, parent?}
w10 writer POST /places?on_conflict=id&on_conflict.where=(id.gt.*) {id, name}
    Prefer: resolution=merge-duplicates
w11 writer PATCH /orders?id=eq.* {status=3}
w12 writer PATCH /places?on=id []{id, name}
w13 writer PATCH /orders?id=eq.* {note=null, secret=true}
w14 writer POST /orders {note, secret?}
`;

const suite = apiSuite("operations_attack", {
  dbSchemas: ["api", "v2"],
  dbAnonRole: "anon",
  batchMaxOperations: 10,
  serverQueryMethod: true,
  dbPlanEnabled: true,
  dbAggregatesEnabled: true,
  etagMode: "on",
  operations,
});

/** Other spellings of operations. */
const permitted = linesOf`
  GET /places?select=id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=id&limit=5&offset=3
  GET /places?select=id,name&id=eq.1&order=id&limit=0
  GET /places?limit=5&order=id&id=eq.1&select=id,name
  GET /places?limit=5;order=id;id=eq.1;select=id,name
  GET /places?select=id,+name&id=eq.1&order=id&limit=5
  GET /places?%73elect=id,name&id=eq.1&order=id&limit=5
  GET /places?select=%22id%22,name&id=eq.1&order=id&limit=5
  GET /%70laces?select=id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=id {Range: 0-4}
  GET /places?select=id,name&id=eq.1&order=id {Range: 3-7}
  GET /places?select=id,name&id=eq.1&order=id&limit=99 {Range: 0-4}
  HEAD /places?select=id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: */*}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/*, text/html, application/json;q=0.1}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {If-None-Match: "x"}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 as writer
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc-%3Ea-%3E%3Eb,doc-%3En&doc-%3E%3En=eq.5&order=doc-%3En.desc.nullslast,id
  GET /places?select=id,n:name::text&id=in.(1,2,3)&limit=2
  GET /places?select=id,n:name::text&id=in.()&limit=2
  GET /places?select=id,n:name::text&id=in.("1",2)&limit=2
  GET /places?select=id,parent(id,name)&parent.name=eq.a&order=id
  GET /places?or=(id.eq.1,and(name.like.%22a,)%22,id.gt.0))&select=id
  GET /places?select=name&tags=cs.{x}&name=not.eq.b
  GET /places?select=name&name=not.eq.b&tags=cs.{x}
  GET /places?body=fts(english).cat&select=id
  GET /places?select=count()
  GET /places?select=name,id.count()&having=(id.count().gt.0)
  GET /places?id=eq(any).{1,2}&select=id
  GET /places?name=isdistinct.a&select=id
  GET /places?name=is.null&select=id
  GET /places?name=is.NULL&select=id
  GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22c,d%22=eq.x
  GET /Odd%20Name?select="a.b","c,d"&"c,d"=eq.x
  GET /places?select=id&id=eq.1
  GET /place_names?select=*
  GET /places?distinct=name&select=name
  GET /places?select=id&name=in.(a,b)
  GET /places?select=id&name=in.("a",b)
  GET /places
  GET /places?select=id,places!parent(id)&places.order=id&places.limit=1
  GET /places?select=id {Prefer: count=exact}
  GET /places?select=id,name {Accept: text/csv}
  GET /places?select=id,name&id=eq.1 {Accept: application/vnd.svc.object+json}
  GET /products?select=id {Accept-Profile: v2}
  POST /rpc/over with {"z":1}
  POST /rpc/over with [1]
  GET /rpc/opt?a=1
  GET /rpc/many?v=1&v=2
  GET /rpc/rows?kind=x&select=id&id=gt.0&order=id&limit=5
  POST /rpc/opt with {"a":3}
  POST /rpc/vol with {"a":3}
  POST /places?select=id {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} as writer with {"name":"x","id":9}
  POST /places?select=id {Prefer: return=representation} {Idempotency-Key: k1} as writer with {"id":9,"name":"x"}
  PATCH /places?id=eq.1 as writer with {"name":"x"}
  PATCH /places?id=eq.1 as writer with {"name":"x","tags":["q"]}
  PATCH /places?id=eq.1 {If-Match: *} as writer with {"name":"x"}
  PUT /places?id=eq.1 as writer with {"id":1,"name":"x","doc":1,"doc2":1,"tags":[],"at":null,"parent":null,"body":null}
  DELETE /places?id=eq.2 as writer
  PATCH /places?id=eq.1&order=id&limit=1 as writer with {"name":"y"}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":[{"product_id":1},{"product_id":2}]}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":[]}
  POST /places?columns=id,name as writer with [{"id":7,"name":"x"},{"id":8}]
  POST /places?on_conflict=id&on_conflict.where=(id.gt.1) {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  PATCH /orders?id=eq.1 as writer with {"status":3}
  PATCH /places?on=id as writer with [{"id":1,"name":"x"}]
  PATCH /orders?id=eq.1 as writer with {"note":null,"secret":true}
  POST /orders as writer with {"note":"x"}
  POST /orders as writer with {"note":"x","secret":"s"}
  GET /places?select=id,name&id=eq.1&order=id&limit=%205%20
  GET /places?select=id,name&id=eq.1&order=id&limit=6&limit=5 {Range: 0-9}
  GET /places?select=id,name&id=eq.1&order=id&limit=5&offset=-1
  GET /places?select=id,name&id=eq.1&order=id&limit=5&offset=4&offset=3
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: COUNT=exact}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: count="exact"}
  OPTIONS /products/$query
  GET /places?select=id&name=in.(%20a,b)
  PATCH /places?id=eq.1&limit=1&order=id as writer with {"name":"x"}
`;

/** Requests that are planned otherwise. */
const refused = linesOf`
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: handling=lenient}
  GET /place_names
  GET /places?select=id,name&id=eq.1&order=id&limit=6
  GET /places?select=id,name&id=eq.1&order=id&limit=5&offset=4
  GET /places?select=id,name&id=eq.1&order=id&limit=05555
  GET /places?select=id,name&id=eq.1&order=id&limit=+9
  GET /places?select=id,name&id=eq.1&order=id&limit
  GET /places?select=id,name&id=eq.1&order=id&limit=5&limit=
  GET /places?select=id,name&id=eq.1&order=id&limit=6&limit=
  GET /places?select=id,name&id=eq.1&order=id&lim%69t=6
  GET /places?select=id,name&id=eq.1&order=id&limit=5&limit=6
  GET /places?select=id,name&id=eq.1&order=id {Range: 0-5}
  GET /places?select=id,name&id=eq.1&order=id {Range: 0-}
  GET /places?select=id,name&id=eq.1&order=id {Range: items=0-4}
  GET /places?select=id,name&id=eq.1&order=id {Range: rows=0-9}
  GET /places?select=id,name&id=eq.1&order=id {Range: 4-8}
  GET /places?select=id,name&id=eq.1&order=id&limit=5&offset=3&offset=4
  HEAD /places?select=id,name&id=eq.1&order=id {Range: 0-4}
  HEAD /places?select=id,name&id=eq.1&order=id
  HEAD /places?select=id,name&id=eq.1&order=id&limit=6
  HEAD /places?select=id,doc&id=eq.1&order=id&limit=5
  HEAD /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: count=exact}
  HEAD /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: text/csv}
  GET /places?select=id,name,doc&id=eq.1&order=id&limit=5
  GET /places?select=id,name,*&id=eq.1&order=id&limit=5
  GET /places?select=id,name,**&id=eq.1&order=id&limit=5
  GET /places?select=**&id=eq.1&order=id&limit=5
  GET /places?select=*,-doc&id=eq.1&order=id&limit=5
  GET /places?select=id,name,parent(id)&id=eq.1&order=id&limit=5
  GET /places?select=id,name,...parent(doc)&id=eq.1&order=id&limit=5
  GET /places?select=id,name,places!parent(doc)&id=eq.1&order=id&limit=5
  GET /places?select=id,name,parent!inner()&id=eq.1&order=id&limit=5
  GET /places?select=id,name,parent()&id=eq.1&order=id&limit=5
  GET /places?select=id,name:doc&id=eq.1&order=id&limit=5
  GET /places?select=id:name,name:id&id=eq.1&order=id&limit=5
  GET /places?select=id,name:name&id=eq.1&order=id&limit=5
  GET /places?select=id::text,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name.upper()&id=eq.1&order=id&limit=5
  GET /places?select=id,name,count()&id=eq.1&order=id&limit=5
  GET /places?select=id,name,id&id=eq.1&order=id&limit=5
  GET /places?select=id&select=name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&columns=doc&id=eq.1&order=id&limit=5
  GET /places?select=id,name&on_conflict=id&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=id&limit=5&distinct=name
  GET /places?select=id,name&id=eq.1&order=id&limit=5&distinct=*
  GET /places?select=id,name&id=eq.1&order=id&limit=5&having=(count().gt.0)
  GET /places?select=id,name&id=eq.1&order=id&limit=5&after=abc
  GET /places?select=id,name&id=eq.1&order=id&limit=5&and=(id.gt.0)
  GET /places?select=id,name&id=eq.1&order=id&limit=5&or=(id.gt.0,id.lt.9)
  GET /places?select=id,name&id=eq.1&order=id&limit=5&not.and=(id.gt.5)
  GET /places?select=id,name&id=eq.1&order=id&limit=5&name=eq.a
  GET /places?select=id,name&id=eq.1&order=id&limit=5&doc->>n=eq.5
  GET /places?select=id,name&id=eq.1&order=id&limit=5&parent=is.null
  GET /places?select=id,name&id=eq.1&order=id&limit=5&parent.id=eq.1
  GET /places?select=id,name&id=eq.1&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=not.eq.1&order=id&limit=5
  GET /places?select=id,name&id=neq.1&order=id&limit=5
  GET /places?select=id,name&id=gt.1&order=id&limit=5
  GET /places?select=id,name&id=gte.1&order=id&limit=5
  GET /places?select=id,name&id=in.(1)&order=id&limit=5
  GET /places?select=id,name&id=eq(any).{1}&order=id&limit=5
  GET /places?select=id,name&id=eq(all).{1}&order=id&limit=5
  GET /places?select=id,name&id=eq(col).parent&order=id&limit=5
  GET /places?select=id,name&id=isdistinct.1&order=id&limit=5
  GET /places?select=id,name&id=is.null&order=id&limit=5
  GET /places?select=id,name&id=is.not_null&order=id&limit=5
  GET /places?select=id,name&id=ov.{1}&order=id&limit=5
  GET /places?select=id,name&id.eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq%2E1&id=gt.0&order=id&limit=5
  GET /places?select=id,name&places.id=eq.1&order=id&limit=5
  GET /places?select=id,name&api.places.id=eq.1&order=id&limit=5
  GET /places?select=id,name&id->x=eq.1&order=id&limit=5
  GET /places?select=id,name&id->>x=eq.1&order=id&limit=5
  GET /places?select=id,name&id.abs()=eq.1&order=id&limit=5
  GET /places?select=id,name&ID=eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=id.desc&limit=5
  GET /places?select=id,name&id=eq.1&order=id.nullsfirst&limit=5
  GET /places?select=id,name&id=eq.1&order=id,doc&limit=5
  GET /places?select=id,name&id=eq.1&order=doc&limit=5
  GET /places?select=id,name&id=eq.1&order=doc->n&limit=5
  GET /places?select=id,name&id=eq.1&order=doc&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=parent(doc)&limit=5
  GET /places?select=id,name&id=eq.1&order=id.length()&limit=5
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: text/csv}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/x-ndjson}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/jsonl}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/geo+json}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.pgrst.object+json}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.svc.object}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.pgrst.plan}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.pgrst.plan+json; options=analyze|verbose}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.pgrst.plan+text; for="application/json"}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/vnd.svc.array+json;nulls=stripped}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/json;q=0.5, text/csv}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: text/csv;q=0.9, application/json;q=0.1}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: application/json, text/csv;q=1.5}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: TEXT/CSV}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept: foo/bar}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Accept-Profile: v2}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: count=exact}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: junk, count=planned}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: count=estimated}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: count=exact-1}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: tx=rollback}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: read=primary}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: max-rows=fail}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: handling=strict, junk}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: handling=strict, max-affected=1}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: timezone=America/New_York}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: return=headers-only}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: missing=default}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: unmatched=fail}
  GET /places?select=id,name&id=eq.1&order=id&limit=5 {Prefer: resolution=merge-duplicates}
  GET /./places?select=id,name,doc&id=eq.1&order=id&limit=5
  GET /rpc/../places?select=id,doc&id=eq.1&order=id&limit=5
  GET /api.places?select=id,name&id=eq.1&order=id&limit=5
  GET /places%20?select=id,name&id=eq.1&order=id&limit=5
  GET /PLACES?select=id,name&id=eq.1&order=id&limit=5
  GET /"places"?select=id,name&id=eq.1&order=id&limit=5
  GET /places;x?select=id,name&id=eq.1&order=id&limit=5
  GET /places%3Fselect=id,doc?select=id,name&id=eq.1&order=id&limit=5
  GET /place_names?select=id,name&id=eq.1&order=id&limit=5
  GET /rpc/places?select=id,name&id=eq.1&order=id&limit=5
  DELETE /places?select=id,name&id=eq.1&order=id&limit=5 as writer
  get /places?select=id,doc
  OPTIONS /orders
  OPTIONS /rpc/nix
  OPTIONS /orders/$query
  GET /places?select=id,v:doc->a->>b,doc->n&doc->n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->b,doc->n&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->>a,doc->n&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->m&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->>n&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>m=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>0=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>n=eq.5&order=doc->m.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>n=eq.5&order=doc->n.desc,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>n=eq.5&order=doc->>n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc->>n::int=gt.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc2->a->>b,doc->n&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->n&doc2->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,v:doc->a->>b,doc->-1&doc->>n=eq.5&order=doc->n.desc.nullslast,id
  GET /places?select=id,n:name::text&id=in.(1,2,3,4)&limit=2
  GET /places?select=id,n:name::text&id=not.in.(1,2)&limit=2
  GET /places?select=id,n:name::varchar&id=in.(1,2)&limit=2
  GET /places?select=id,m:name::text&id=in.(1,2)&limit=2
  GET /places?select=id,n:name&id=in.(1,2)&limit=2
  GET /places?select=id,n:doc::text&id=in.(1,2)&limit=2
  GET /places?select=id,n:name::text&id=in.(1,2)&limit=3
  GET /places?select=id,n:name::text&id=in.(1,2)
  GET /places?select=id,n:name::text&id=in.(1,2)&id=in.(1)&limit=2
  GET /places?select=id,n:name::text&id=in.(1,,,,2)&limit=2
  GET /places?select=id,n:name::text&id=in.(%221,2,3,4%22,1,2,3)&limit=2
  GET /places?select=id,n:name::text&parent=in.(1,2)&limit=2
  GET /places?select=id,n:name::text&id=eq.1&limit=2
  GET /places?select=id,parent(id,name)&parent.name=neq.a&order=id
  GET /places?select=id,parent(id,name)&parent.doc=eq.a&order=id
  GET /places?select=id,parent(id,name)&parent.parent.name=eq.a&order=id
  GET /places?select=id,parent(id,name)&parent=not.is.null&parent.name=eq.a&order=id
  GET /places?select=id,parent!inner(id,name)&parent.name=eq.a&order=id
  GET /places?select=id,parent!left(id,name)&parent.name=eq.a&order=id
  GET /places?select=id,parent(id,name)&name=eq.a&order=id
  GET /places?select=id,parent(id,name)&parent.name=eq.a&parent.order=id&order=id
  GET /places?select=id,parent(id,name)&parent.name=eq.a&parent.limit=1&order=id
  GET /places?select=id,parent(id,name)&parent.name=eq.a&parent.or=(id.eq.1,id.eq.2)&order=id
  GET /places?select=id,parent(id,name,doc)&parent.name=eq.a&order=id
  GET /places?select=id,parent(*)&parent.name=eq.a&order=id
  GET /places?select=id,p:parent(id,name)&p.name=eq.a&order=id
  GET /places?select=id,parent:parent(id,name)&parent.name=eq.a&order=id
  GET /places?select=id,...parent(id,name)&parent.name=eq.a&order=id
  GET /places?select=id,parent(id,name)&parent.name=eq.a&order=parent(name)
  GET /places?select=id,parent:places(id,name)&parent.name=eq.a&order=id
  GET /places?select=id,parent(id,name,parent(id))&parent.name=eq.a&order=id
  GET /places?and=(id.eq.1,and(name.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,or(name.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.like.a,id.lt.0))&select=id
  GET /places?or=(id.eq.1,not.and(name.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.like.a,id.gt.0),id.gt.0)&select=id
  GET /places?or=(id.eq.1,and(name.like.a))&select=id
  GET /places?or=(id.eq.1,and(doc.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.ilike.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.like(any).{a},id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.like.a,id.gt.0))&or=(id.gt.0)&select=id
  GET /places?or=(id.eq.1,and(name.like.a,parent.gt.0))&select=id
  GET /places?not.or=(id.eq.1,and(name.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq(col).parent,and(name.like.a,id.gt.0))&select=id
  GET /places?or=(id.eq.1,and(name.like.a,id.gt.0))&or&select=id,name
  GET /places?select=name&tags=cd.{x}&name=not.eq.b
  GET /places?select=name&tags=ov.{x}&name=not.eq.b
  GET /places?select=name&tags=not.cs.{x}&name=not.eq.b
  GET /places?select=name&tags=cs.{x}&name=eq.b
  GET /places?select=name&doc=cs.{}&name=not.eq.b
  GET /places?body=fts.cat&select=id
  GET /places?body=fts(german).cat&select=id
  GET /places?body=plfts(english).cat&select=id
  GET /places?body=wfts(english).cat&select=id
  GET /places?body=not.fts(english).cat&select=id
  GET /places?name=fts(english).cat&select=id
  GET /places?select=count(),name
  GET /places?select=id.count()
  GET /places?select=n:count()
  GET /places?select=count()::text
  GET /places?select=name,id.sum()&having=(id.count().gt.0)
  GET /places?select=name,id.count()&having=(id.count().lt.9)
  GET /places?select=name,id.count()&having=(id.sum().gt.0)
  GET /places?select=name,id.count()&having=(id.count().gt.0,count().gt.0)
  GET /places?select=name,id.count()
  GET /places?select=doc,id.count()&having=(id.count().gt.0)
  GET /places?id=eq(all).{1,2}&select=id
  GET /places?id=gt(any).{1,2}&select=id
  GET /places?id=not.eq(any).{1,2}&select=id
  GET /places?name=not.isdistinct.a&select=id
  GET /places?name=isdistinct(col).doc&select=id
  GET /places?doc=isdistinct.a&select=id
  GET /places?name=is.not_null&select=id
  GET /places?name=is.true&select=id
  GET /places?name=not.is.null&select=id
  GET /places?doc=is.null&select=id
  GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22c,d%22=neq.x
  GET /Odd%20Name?select=%22a.b%22,%22select%22&%22c,d%22=eq.x
  GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22a.b%22=eq.1
  GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22c,d%22=eq.x&%22limit%22=eq.5
  GET /Odd%20Name?select=%22a.b%22,%22c,d%22&%22c,d%22=eq.x&%22and%22=eq.5
  GET /Odd%20Name?select=%22c,d%22,%22a.b%22&%22c,d%22=eq.x
  GET /Odd%20Name
  GET /Odd+Name?select=%22a.b%22,%22c,d%22&%22c,d%22=eq.x
  GET /places?select=id&id=eq.2
  GET /places?select=id&id=eq.%201
  GET /places?select=id&id=eq.01
  GET /places?select=id&id=eq.1%20
  GET /places?select=id&id=eq.+1
  GET /places?select=id&id=eq."1"
  GET /places?select=id&id=eq.1&id=eq.2
  GET /places?select=id&id=eq.*
  GET /places?select=id,name&order=id&limit=3&after=abc
  GET /places?select=id,name&order=id&limit=2&before=abc
  GET /places?select=id,name&order=id&limit=2
  GET /place_names?select=id
  GET /place_names?select=*,*
  GET /place_names?select=**
  GET /place_names?id=eq.1
  GET /place_names?limit=1
  GET /place_names {Range: 0-0}
  GET /places?distinct=id&select=name
  GET /places?distinct=*&select=name
  GET /places?distinct=name&select=id
  GET /places?distinct=name,id&select=name
  GET /places?select=id&name=in.(a,b,c)
  GET /places?select=id&name=in.(a)
  GET /places?select=id&name=in.(b,a)
  GET /places?select=id&name=in.("a,b")
  GET /places?select=id,places!parent(id)&places.order=id&places.limit=2
  GET /places?select=id,places!parent(id)&places.order=id.desc&places.limit=1
  GET /places?select=id,places!parent(id)&places.limit=1
  GET /places?select=id,places!parent(id)&places.order=id&places.limit=1&places.offset=1
  GET /places?select=id,places!parent(id)&places.order=id
  GET /places?select=id,places!parent(id)&places.order=id&places.limit=1&limit=5
  GET /places?select=id,places!parent(id)&places.order=id&places.limit=1&places.places.limit=1
  GET /places?select=id,places!places_parent_fkey(id)&places.order=id&places.limit=1
  GET /places?select=id {Prefer: count=planned}
  GET /places?select=id {Prefer: count=exact} as writer
  GET /places?select=id {Prefer: count=exact, count=planned} as writer
  GET /places?select=id
  GET /places?select=id,name
  GET /places?select=id,name {Accept: text/csv, application/json} as writer
  GET /places?select=id,name&id=eq.1
  GET /places?select=id,name&id=eq.1 {Accept: application/vnd.svc.object+json;nulls=stripped}
  GET /places?select=id,name&id=eq.1 {Accept: application/vnd.svc.array+json}
  GET /products?select=id
  GET /products?select=id {Accept-Profile: api}
  GET /products?select=id {Content-Profile: v2}
  GET /products?select=id,secret {Accept-Profile: v2}
  GET /products {Accept-Profile: v2}
  HEAD /products?select=id {Accept-Profile: api}
  POST /rpc/over with {"a":1}
  POST /rpc/over with {"a":1,"b":2}
  POST /rpc/over {Content-Type: application/x-www-form-urlencoded} with {"a":1}
  POST /rpc/over {Content-Type: text/csv} with {"a":1}
  POST /rpc/over?select=x with {"z":1}
  POST /rpc/over?columns=a with {"a":1}
  GET /rpc/over?a=1
  QUERY /rpc/over {Content-Type: application/json} with {"a":1}
  POST /rpc/doc with {"a":"1","b":"2"}
  POST /rpc/doc with {}
  GET /rpc/opt
  GET /rpc/opt?b=1
  GET /rpc/opt?a=1&b=1
  GET /rpc/opt?a=1&a=2
  GET /rpc/opt?A=1
  GET /rpc/opt?a=eq.1
  GET /rpc/opt?a
  GET /rpc/opt?a=1&select=x
  GET /rpc/opt?a=1&limit=1
  GET /rpc/opt?a=1&order=x
  GET /rpc/opt?a=1&opt=gt.0
  GET /rpc/opt?a=1 {Accept: text/plain}
  GET /rpc/opt?a=1 {Accept: application/octet-stream}
  GET /rpc/opt?a=1 {Prefer: params=single-object, count=exact}
  GET /rpc/many?v=1
  GET /rpc/many?v=1&v=2&v=3
  GET /rpc/many?v={1,2}
  POST /rpc/many with {"v":[1,2]}
  GET /rpc/rows?kind=x&select=id,doc&id=gt.0&order=id&limit=5
  GET /rpc/rows?kind=x&select=id&id=lt.9&order=id&limit=5
  GET /rpc/rows?kind=x&select=id&id=gt.0&order=id&limit=6
  GET /rpc/rows?kind=x&select=id&order=id&limit=5
  GET /rpc/rows?kind=x&select=id&id=5&order=id&limit=5
  GET /rpc/rows?kind=x&select=id,parent(*)&id=gt.0&order=id&limit=5
  GET /rpc/rows?kind=eq.x&select=id&id=gt.0&order=id&limit=5
  GET /rpc/rows?kind=x&select=id&id=gt.0&order=id&limit=5&name=eq.a
  GET /rpc/rows?kind=x&select=id&id=gt.0&order=id&limit=5&or=(id.gt.0)
  GET /rpc/clause?limit=5&order=x&having=z
  GET /rpc/clause?limit=5
  GET /rpc/clause?limit=6&order=x
  POST /rpc/opt with {"b":3}
  POST /rpc/opt with {"a":3,"b":3}
  POST /rpc/opt with {}
  POST /rpc/opt with [{"a":3}]
  POST /rpc/opt?select=a with {"a":3}
  POST /rpc/opt {Prefer: return=minimal} with {"a":3}
  POST /rpc/opt {Content-Type: text/plain} with {"a":3}
  POST /rpc/opt {Content-Profile: v2} with {"a":3}
  GET /rpc/vol?a=1
  HEAD /rpc/vol?a=1
  POST /rpc/vol with {"A":3}
  POST /places?select=id {Prefer: return=representation} as writer with [{"id":9,"name":"x"}]
  POST /places?select=id {Prefer: return=representation} as writer with {"id":9,"name":"x","doc":1}
  POST /places?select=id {Prefer: return=representation} as writer with {"id":9}
  POST /places?select=id,doc {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=minimal} as writer with {"id":9,"name":"x"}
  POST /places?select=id as writer with {"id":9,"name":"x"}
  POST /places {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation, resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?select=id&columns=id {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id&columns=id,name,doc {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation, missing=default} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation, tx=rollback} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation, count=exact} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} {Content-Type: application/x-ndjson} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} {Content-Type: application/x-www-form-urlencoded} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} {Content-Profile: v2} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} {Accept: text/csv} as writer with {"id":9,"name":"x"}
  POST /places?select=id&order=id {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id {Prefer: return=representation} with {"id":9,"name":"x"}
  PATCH /places?id=eq.1 as writer with {"name":"y"}
  PATCH /places?id=eq.1 as writer with {"name":"x","doc":1}
  PATCH /places?id=eq.1 as writer with {"tags":["q"]}
  PATCH /places?id=eq.1 as writer with {"name":["x"]}
  PATCH /places?id=eq.1 as writer with {"name":{"x":1}}
  PATCH /places?id=eq.1 as writer with {"name":"x "}
  PATCH /places?id=eq.1 as writer with {"Name":"x"}
  PATCH /places?id=eq.1 as writer with {"name ":"x"}
  PATCH /places?id=eq.1 as writer with [{"name":"x"}]
  PATCH /places?id=eq.1 as writer with {}
  PATCH /places?id=gt.1 as writer with {"name":"x"}
  PATCH /places as writer with {"name":"x"}
  PATCH /places?id=eq.1&columns=name as writer with {"name":"x"}
  PATCH /places?id=eq.1&select=doc as writer with {"name":"x"}
  PATCH /places?id=eq.1 {Prefer: return=representation} as writer with {"name":"x"}
  PATCH /places?id=eq.1 {Prefer: missing=default} as writer with {"name":"x"}
  PATCH /places?id=eq.1 {Prefer: unmatched=fail} as writer with {"name":"x"}
  PATCH /places?id=eq.1 {Content-Type: application/merge-patch+json} as writer with {"name":"x"}
  PATCH /places?id=eq.1 {Content-Type: application/vnd.svc.patch+json} as writer with [{"op":"replace","path":"/name","value":"x"}]
  PATCH /places?or=(id.eq.1,id.eq.2) as writer with {"name":"x"}
  PATCH /places?id=eq.1&name=eq.a as writer with {"name":"x"}
  PATCH /places?on=id as writer with {"id":1,"name":"x"}
  PATCH /places?on=id as writer with [{"id":1,"name":"x","doc":1}]
  PATCH /places?on=id,name as writer with [{"id":1,"name":"x"}]
  PATCH /places?on=name as writer with [{"id":1,"name":"x"}]
  PATCH /places?on=id as writer with [{"id":1,"name":"x"},{"id":2}]
  PATCH /places?on=id as writer with [{"id":1,"name":"x"},{"id":2,"name":"z","tags":[]}]
  PATCH /places?on=id&id=eq.1 as writer with [{"id":1,"name":"x"}]
  PUT /places?id=eq.1 as writer with {"id":1,"name":"x"}
  PUT /places?id=eq.1&name=eq.x as writer with {"id":1,"name":"x","doc":1,"doc2":1,"tags":[],"at":null,"parent":null,"body":null}
  PUT /places as writer with {"id":1,"name":"x","doc":1,"doc2":1,"tags":[],"at":null,"parent":null,"body":null}
  PUT /places?id=eq.1 {Prefer: return=representation} as writer with {"id":1,"name":"x","doc":1,"doc2":1,"tags":[],"at":null,"parent":null,"body":null}
  DELETE /places as writer
  DELETE /places?id=gt.0 as writer
  DELETE /places?id=not.eq.5 as writer
  DELETE /places?id=eq.2&limit=1&order=id as writer
  DELETE /places?id=eq.2 {Prefer: return=representation} as writer
  DELETE /places?id=eq.2&or=(id.gt.0) as writer
  DELETE /places?or=(id.eq.2) as writer
  DELETE /places?id=eq.2 {Content-Profile: v2} as writer
  DELETE /places?id=in.(2) as writer
  DELETE /places?id=eq.2
  POST /places as writer with {"id":9,"name":"x"}
  POST /places as writer with [{"id":9,"name":"x"}]
  PATCH /places?id=eq.1&order=id&limit=2 as writer with {"name":"y"}
  PATCH /places?id=eq.1&order=id as writer with {"name":"y"}
  PATCH /places?id=eq.1&order=id.desc&limit=1 as writer with {"name":"y"}
  PATCH /places?id=eq.1&order=id&limit=1&offset=1 as writer with {"name":"y"}
  PATCH /places?id=eq.1&order=id&limit=1&lock=skip as writer with {"name":"y"}
  PATCH /places?id=eq.1&order=id&limit=1 {Range: 0-9} as writer with {"name":"y","doc":1}
  POST /orders?columns=note,lines(product_id,quantity) as writer with {"note":"x","lines":[{"product_id":1}]}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":[{"product_id":1,"quantity":5}]}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":[{}]}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":{"product_id":1}}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":"[]"}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x","lines":[[{"product_id":1}]]}
  POST /orders?columns=note,lines(product_id) as writer with {"note":"x"}
  POST /orders?columns=note,lines(product_id) as writer with [{"note":"x","lines":[]}]
  POST /orders?columns=note,lines(*) as writer with {"note":"x","lines":[{"product_id":1}]}
  POST /orders?columns=*,lines(product_id) as writer with {"note":"x","lines":[{"product_id":1}]}
  POST /orders?columns=note,lines!inner(product_id) as writer with {"note":"x","lines":[]}
  POST /orders?columns=note,lines(product_id)&lines.on_conflict=order_id as writer with {"note":"x","lines":[]}
  POST /orders?columns=note,lines(product_id)&lines.resolution=ignore-duplicates as writer with {"note":"x","lines":[]}
  POST /places?columns=id,name as writer with [{"id":7,"doc":1}]
  POST /places?columns=id,name as writer with {"id":7,"name":"x"}
  POST /places?columns=id,parent as writer with [{"id":7,"name":"x"}]
  POST /places?columns=id,name,name,parent as writer with [{"id":7,"name":"x"}]
  POST /places?on_conflict=id&on_conflict.where=(id.lt.1) {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id&on_conflict.where=(id.gt.1,id.gt.0) {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id&on_conflict.where=(id.gt.1)&on_conflict.columns=name {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id&on_conflict.where=(id.gt(excluded).id) {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id&on_conflict.where=(id.gt.1) {Prefer: resolution=ignore-duplicates} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict=id&on_conflict.where=(id.gt.1) {Prefer: resolution=return-existing} as writer with {"id":1,"name":"x"}
  POST /places?on_conflict.index=places_pkey&on_conflict.where=(id.gt.1) {Prefer: resolution=merge-duplicates} as writer with {"id":1,"name":"x"}
  PATCH /orders?id=eq.1 as writer with {"status":4}
  PATCH /orders?id=eq.1 as writer with {"status":"3"}
  PATCH /orders?id=eq.1 as writer with {"status":[3]}
  PATCH /orders?id=eq.1 as writer with {"note":"null","secret":true}
  PATCH /orders?id=eq.1 as writer with {"note":null,"secret":"true"}
  PATCH /orders?id=eq.1 as writer with {"note":null,"secret":1}
  PATCH /orders?id=eq.1 as writer with {"note":null}
  POST /orders as writer with {"secret":"s"}
  POST /orders as writer with {"note":"x","status":"paid"}
  POST /orders as writer with [{"note":"x"},{"note":"y"}]
`;

/** Requests that no operation can have. */
const invalid = linesOf`
  GET /places?select=id,name&id=eq.1&order=id&limit=5e1
  GET /places?select=id,name&id=eq.1&order=id&limit=
  GET /places?select=id,name&id=eq.1&order=id&LIMIT=5
  GET /places?select=id,name&id=eq.1&order=id&offset=9 {Range: 0-4}
  GET /places?select=id,name,&id=eq.1&order=id&limit=5
  GET /places?select=,id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&select[]=doc&id=eq.1&order=id&limit=5
  GET /places?Select=id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,name&id=NOT.eq.1&order=id&limit=5
  GET /places?select=id,name&id=not.not.eq.1&order=id&limit=5
  GET /places?select=id,name&id=eq&order=id&limit=5
  GET /places?select=id,name&id=1&order=id&limit=5
  GET /places?select=id,name&id=EQ.1&order=id&limit=5
  GET /places?select=id,name&id=eq.1&order=&limit=5
  GET /places?select=id,name&id=eq.1&order=&order=id&limit=5
  GET /places/?select=id,name&id=eq.1&order=id&limit=5
  GET //places?select=id,name&id=eq.1&order=id&limit=5
  GET /api/places?select=id,name&id=eq.1&order=id&limit=5
  POST /places?select=id,name&id=eq.1&order=id&limit=5 with {}
  OPTIONS /places%00
  GET /places/$query?select=id,name&id=eq.1&order=id&limit=5
  GET /places?select=id,parent(id,name)&parent.name=eq.a&parent.select=doc&order=id
  GET /Odd%20Name?select=a.b,%22c,d%22&%22c,d%22=eq.x
  POST /rpc/over?a=1 with {"z":1}
  POST /places?select=id&on_conflict=id {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id&limit=1 {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  POST /places?select=id&id=eq.9 {Prefer: return=representation} as writer with {"id":9,"name":"x"}
  PUT /places?id=eq.1&columns=id as writer with {"id":1,"name":"x","doc":1,"doc2":1,"tags":[],"at":null,"parent":null,"body":null}
`;

for (const line of permitted) {
  suite.test(`permitted: ${line}`, async (api) => {
    for (let time = 0; time < 2; time++) {
      const response = await api(...readRequest(line));
      ok(response.status < 300, await response.text());
    }
  });
}

for (const line of refused) {
  suite.test(`refused: ${line}`, async (api) => {
    for (let time = 0; time < 2; time++) {
      const response = await api(...readRequest(line));
      strictEqual(response.status, 403);
      if (!line.startsWith("HEAD")) match(await response.text(), /"SVC190"/);
    }
  });
}

for (const line of invalid) {
  suite.test(`invalid: ${line}`, async (api) => {
    ok((await api(...readRequest(line))).status >= 400);
  });
}

type BodyRow = readonly [status: 200 | 400 | 403 | 415, line: string, parts: RequestParts];

const json = "application/json";
const form = "application/x-www-form-urlencoded";

function text(type: string, body: string, as?: string): RequestParts {
  return { headers: { "Content-Type": type }, body, ...as === undefined ? {} : { as } };
}

const bodies: readonly BodyRow[] = [
  [200, "POST /places", text("text/csv", "id,name\n21,x\n22,y\n", "writer")],
  [200, "POST /places", text("text/csv; charset=utf-8", "id,name\n21,x\n", "writer")],
  [403, "POST /places", text("text/csv", "id,name,doc\n21,x,1\n", "writer")],
  [403, "POST /places", text("text/csv", "id\n21\n", "writer")],
  [403, "POST /places", text("text/csv", '"id","name","doc"\n21,x,1\n', "writer")],
  [400, "POST /places", text("text/csv", "name,id,id\nx,1,2\n", "writer")],
  [403, "POST /places", text("application/x-ndjson", '{"id":21,"name":"x"}\n', "writer")],
  [403, "POST /places", text("application/jsonl", '{"id":21,"name":"x"}\n', "writer")],
  [200, "POST /places", text(form, "id=31&name=x", "writer")],
  [200, "POST /places", text(form, "%69d=31&name=x", "writer")],
  [403, "POST /places", text(form, "id=31&name=x&doc=1", "writer")],
  [403, "POST /places", text(form, "id=31", "writer")],
  [415, "POST /places", text("multipart/form-data", "id=31&name=x", "writer")],
  [200, "POST /rpc/doc", text("text/plain", "hello")],
  [403, "POST /rpc/doc", text("application/octet-stream", "hello")],
  [403, "POST /rpc/doc", text("text/xml", "<a/>")],
  [403, "POST /rpc/doc", text(form, "a=1&b=2")],
  [403, "POST /rpc/doc", text("text/csv", "a,b\n1,2")],
  [403, "POST /rpc/over", text(json, '{"a":1}')],
  [403, "POST /rpc/over", text(json, ' {"\\u0061":1} ')],
  [403, "POST /rpc/over", text(json, '{"a":1,"a":2}')],
  [403, "POST /rpc/over", text(json, '[{"a":1}]')],
  [403, "POST /rpc/over", text("text/plain", "x")],
  [200, "QUERY /rpc/opt", text(json, '{"a":1}')],
  [200, "QUERY /rpc/opt", text(form, "a=1")],
  [200, "POST /rpc/opt/$query", text(form, "a=1")],
  [403, "QUERY /rpc/opt", text(json, '{"b":1}')],
  [403, "QUERY /rpc/opt", text(json, "{}")],
  [403, "QUERY /rpc/opt?select=x", text(json, '{"a":1}')],
  [403, "QUERY /rpc/opt", text(form, "a=1&b=2")],
  [403, "QUERY /rpc/opt", text(form, "a=1&select=x")],
  [403, "POST /rpc/opt/$query", text(form, "b=1")],
  [403, "POST /rpc/opt/%24query", text(form, "b=1")],
  [403, "QUERY /rpc/vol", text(json, '{"a":1}')],
  [403, "QUERY /places", text(form, "select=id,doc&id=eq.1&order=id&limit=5")],
  [200, "QUERY /places?limit=6", text(form, "select=id,name&id=eq.1&order=id&limit=5")],
  [403, "QUERY /places?select=doc", text(form, "select=id,name&id=eq.1&order=id&limit=5")],
  [200, "QUERY /places", text(form, "select=id,name&id=eq.1&order=id&limit=5")],
  [200, "POST /places/$query", text(form, "select=id,name&id=eq.1&order=id&limit=5")],
  [403, "POST /places/$query", text("text/plain", "select=id,doc")],
  [403, "QUERY /nix", text(form, "")],
  [403, "QUERY /place", text(form, "")],
  [403, "QUERY /order", text(form, "select=id")],
  [403, "QUERY /rpc/ove", text(form, "a=1")],
  [403, "POST /order/$query", text(form, "select=id")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"y","name":"x","doc":1}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"x","name":"y"}', "writer")],
  [200, "PATCH /places?id=eq.1", text(json, '{"name":"y","name":"x"}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"x","__proto__":{"doc":1}}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"x","constructor":1}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '\ufeff{"name":"z"}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"x\\u0000"}', "writer")],
  [403, "PATCH /places?id=eq.1", text(json, '{"name":"x","tag\\u0073":null,"doc":null}', "writer")],
  [403, "PATCH /places?id=eq.1", text(form, "name=x", "writer")],
  [403, "PATCH /places?id=eq.1", text("text/csv", "name\nx", "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":3.0}', "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":3e0}', "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":30e-1}', "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":3.00000000000000000001}', "writer")],
  [400, "PATCH /orders?id=eq.1", text(json, '{"status":03}', "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":"3"}', "writer")],
  [403, "PATCH /orders?id=eq.1", text(json, '{"status":2,"status":3.0}', "writer")],
  [
    403,
    "POST /orders?columns=note,lines(product_id)",
    text(json, '{"note":"x","lines":[{"product_id":1,"quantity":5,"product_id":1}]}', "writer"),
  ],
  [
    403,
    "POST /orders?columns=note,lines(product_id)",
    text(json, '{"note":"x","lines":[],"lines":[{"quantity":1,"product_id":1}]}', "writer"),
  ],
  [
    400,
    "POST /orders?columns=note,lines(product_id)",
    text(json, '{"note":"x","lines":[{"quantity":1,"product_id":1}],"lines":[]} {}', "writer"),
  ],
];

const p1 = "/places?select=id,name&id=eq.1&order=id&limit=5";
const w1 = "/places?select=id";
const w = { as: "writer" } as const;
const rep = { headers: { Prefer: "return=representation" } };

const batches: readonly (readonly [status: 200 | 400 | 403 | 415, parts: RequestParts])[] = [
  [200, batchOf([get(p1)])],
  [200, batchOf([get(p1), get(p1)], w)],
  [200, batchOf([post(w1, { id: 40, name: "x" }, rep)], w)],
  [403, batchOf([get("/places?select=id,doc&id=eq.1&order=id&limit=5")])],
  [403, batchOf([get(p1), get("/places?select=doc")])],
  [403, batchOf([get(p1, { headers: { Accept: "text/csv" } })])],
  [403, batchOf([get(p1, { headers: { Prefer: "count=exact" } })])],
  [403, batchOf([get(p1, { headers: { "Accept-Profile": "v2" } })])],
  [403, batchOf([get(p1)], { headers: { "Accept-Profile": "v2" } })],
  [403, batchOf([get("/products?select=id")], { headers: { "Accept-Profile": "api" } })],
  [200, batchOf([get(p1)], { headers: { Prefer: "count=exact" } })],
  [403, batchOf([get("/places?select=id,name&id=eq.1&order=id", { headers: { Range: "0-9" } })])],
  [
    403,
    batchOf([post(w1, { id: 41, name: "x" })], { ...w, headers: { Prefer: "return=minimal" } }),
  ],
  [403, batchOf([post(w1, { id: 41, name: "x", doc: 1 }, rep)], w)],
  [403, batchOf([post(w1, [{ id: 41, name: "x" }], rep)], w)],
  [
    400,
    batchOf(
      [post(w1, { id: 41 }, { ...rep, refs: { "/name": "a#/0/name", "/doc": "a#/0/name" } })],
      w,
    ),
  ],
  [
    403,
    batchOf([
      get(p1, { id: "a" }),
      post(w1, { id: 41 }, { ...rep, refs: { "/name": "a#/0/name", "/doc": "a#/0/name" } }),
    ], w),
  ],
  [
    403,
    batchOf([
      get(p1, { id: "a" }),
      patch("/places?id=eq.1", {}, { refs: { "/name": "a#/0/name" } }),
    ], w),
  ],
  [403, batchOf([patch("/places?id=eq.1", { name: "y" })], w)],
  [403, batchOf([patch("/places", { name: "x" })], w)],
  [403, batchOf([remove("/places")], w)],
  [403, batchOf([remove("/places?id=gt.0")], w)],
  [403, batchOf([put("/places?id=eq.1", { id: 1 })], w)],
  [403, batchOf([{ method: "HEAD", url: "/places?select=doc" }])],
  [400, batchOf([{ method: "OPTIONS", url: "/orders" }])],
  [400, batchOf([{ method: "get", url: "/places?select=doc" }])],
  [400, batchOf([{ method: "QUERY", url: "/places", body: "select=doc" }])],
  [
    403,
    batchOf([{
      method: "POST",
      url: "/places/$query",
      body: "select=doc",
      headers: { "Content-Type": form },
    }]),
  ],
  [400, batchOf([get("//places?select=doc")])],
  [400, batchOf([get("http://localhost:3000/places?select=doc")])],
  [400, batchOf([get("/places?select=doc#x")])],
  [403, batchOf([post("/rpc/over", { a: 1 })])],
  [400, batchOf([post("/", { requests: [] })])],
  [400, batchOf([get("/")])],
];

const rows: readonly BodyRow[] = [
  ...bodies,
  ...batches.map(([status, parts]) => [status, "POST /", parts] as const),
];

for (const [at, [status, line, parts]] of rows.entries()) {
  suite.test(`body ${at + 1}, ${status}: ${line}`, async (api) => {
    const response = await api(line, parts);
    const answer = await response.text();
    strictEqual(response.status < 300 ? 200 : response.status, status, answer);
    if (status === 403) match(answer, /"SVC190"/);
  });
}

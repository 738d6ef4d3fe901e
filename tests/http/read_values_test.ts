/** Values: calls and casts behind columns, comparisons of columns, keys as names. */
import { serviceSuite } from "../support/handler/api.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "values of tools" });

suite.answers("calls in select")`
  GET /tools?select=c:price.sub(0.5).round(0)::int&id=eq.1 | 200 [{"c":30}]
  GET /tools?select=name.upper(),n:name.length()&id=eq.1 | 200 [{"name":"SAW","n":3}]
  GET /tools?select=a:name.left(2),b:name.right(1),c:name.concat('-',id,@x)&id=eq.1&@x=y
    200 [{"a":"sa","b":"w","c":"saw-1y"}]
  GET /tools?select=a:id.add(1),b:id.mul(1.5),c:id.div(2),d:id.mod(2),e:id.neg(),f:id.sub(maker_id)&id=eq.3
    200 [{"a":4,"b":4.5,"c":1,"d":1,"e":-3,"f":1}]
  GET /tools?select=a:price.floor(),b:price.ceil(),c:price.trunc(),d:price.neg().abs()&id=eq.1
    200 [{"a":30,"b":31,"c":30,"d":30.5}]
  GET /tools?select=id,p:price.coalesce(0)&order=id&id=gt.2
    200 [{"id":3,"p":45},{"id":4,"p":0}]
  GET /tools?select=a:price.greatest(40),b:price.least(40,35),c:name.nullif('saw')&id=eq.1
    200 [{"a":40,"b":30.5,"c":null}]
  GET /tools?select=b:price.width_bucket(0,100,10)&order=id&limit=2 | 200 [{"b":4},{"b":10}]
  GET /tools?select=a:bought.date_trunc(month)::date,b:bought.extract(year),c:bought.to_char('DD.MM.')&id=eq.2
    200 [{"a":"2024-02-01","b":2024,"c":"03.02."}]
  GET /tools?select=a:bought.add(1),b:bought.add('1 day')::date,c:bought.sub(bought)&id=eq.1
    200 [{"a":"2024-01-03","b":"2024-01-03","c":0}]
  GET /tools?select=a:bought::timestamp.date_bin('7 days')::date,b:bought::timestamp.at_time_zone(utc).at_time_zone('Asia/Tokyo')::text&id=eq.1
    200 [{"a":"2024-01-01","b":"2024-01-02 09:00:00"}]
  GET /tools?select=w:bought::timestamptz.date_trunc(day,'Asia/Tokyo').at_time_zone('Asia/Tokyo')::text&id=eq.1
    Prefer: timezone=UTC
    200 [{"w":"2024-01-02 00:00:00"}]
  GET /tools?select=n:tags.cardinality(),c:spec->colors.jsonb_array_length()&id=eq.1
    200 [{"n":2,"c":2}]
  GET /tools?select=kg:spec->w->>kg::int.mul(2)&id=eq.2 | 200 [{"kg":6}]
  GET /tools?select=shout.lower()&id=eq.1 | 200 [{"shout":"saw"}]
  GET /tools?select=name.concat(' ''it'' ').trim()&id=eq.1 | 200 [{"name":"saw 'it'"}]
  GET /makers?select=name.lower(),tools(name.upper())&tools.order=name.upper().desc&id=eq.1
    200 [{"name":"bosk","tools":[{"name":"SAW"},{"name":"DRILL"}]}]
  GET /tools?select=name,...makers(maker:name.upper())&order=id&limit=1
    200 [{"name":"saw","maker":"BOSK"}]
  GET /tools?select=id,...makers!inner(town:city)&makers.town=eq.Ulm&order=id
    200 [{"id":1,"town":"Ulm"},{"id":2,"town":"Ulm"}]
  GET /tools?select=id,...makers!inner(up:name.upper())&makers.or=(up.eq.RYO)
    200 [{"id":3,"up":"RYO"}]
  GET /tools?select=id,...makers(town:city)&makers(town)=eq.Kobe | 200 [{"id":3,"town":"Kobe"}]
  GET /tools?select=...makers(n:count())&makers.n=gt.1 | 400 42703 | column makers_1.n does not exist
  GET /rpc/cheap_tools?below=50&select=name.upper()&order=name.upper()
    200 [{"name":"PLANE"},{"name":"SAW"}]
  GET /rpc/prices?select=p:price.coalesce(0).neg()&order=p&limit=1 | 200 [{"p":-99}]
`;

suite.answers("orders and conditions by values")`
  GET /tools?select=id&order=price.sub(50).abs(),id | 200 [{"id":3},{"id":1},{"id":2},{"id":4}]
  GET /tools?select=id&order=name.collate(C).desc&limit=1 | 200 [{"id":1}]
  GET /tools?select=id&order=spec->w->>kg::int.desc.nullslast&limit=1 | 200 [{"id":2}]
  GET /tools?select=id,makers(name)&order=price.neg()&limit=1
    200 [{"id":2,"makers":{"name":"Bosk"}}]
  GET /tools?select=id&or=(name.upper().eq.SAW,price.add(1).gt.99)&order=id
    200 [{"id":1},{"id":2}]
  GET /tools?select=id&and=(name.length().in.(3,5),price::int.not.eq.31)&order=id
    200 [{"id":2},{"id":3}]
  GET /tools?select=id&and=(bought.extract(month).eq.1) | 200 [{"id":1}]
  GET /tools?select=id&price=gt(col).id&order=id | 200 [{"id":1},{"id":2},{"id":3}]
  GET /tools?select=id&name=eq.col(id) | 200 []
  GET /tools?select=id&bought=not.isdistinct(col).bought&order=id
    200 [{"id":1},{"id":2},{"id":3},{"id":4}]
  GET /tools?select=id&or=(id.eq(col).maker_id,id.gt(col).price) | 200 [{"id":1}]
  GET /tools?select=id&id=neq(col).maker_id.add(1)&order=id | 200 [{"id":1}]
  GET /makers?select=id,tools(id)&tools.id=eq(col).maker_id&order=id
    200 [{"id":1,"tools":[{"id":1}]},{"id":2,"tools":[]},{"id":3,"tools":[]}]
`;

suite.answers("keys as names")`
  GET /tools?select=id,l:name.upper()&l=eq.SAW | 200 [{"id":1,"l":"SAW"}]
  GET /tools?select=title:name&title=like.s* | 200 [{"title":"saw"}]
  GET /tools?select=kg:spec->w->>kg&kg=eq.2 | 200 [{"kg":"2"}]
  GET /tools?select=p:price::int&order=p.desc.nullslast&limit=1 | 200 [{"p":99}]
  // A column comes before a key.
  GET /tools?select=price:id&price=gt.40&order=price | 200 [{"price":3},{"price":2}]
  // A function of the row comes before a key.
  GET /tools?select=shout:id&shout=eq.SAW | 200 [{"shout":1}]
  GET /rpc/prices?select=price:name&price=gt.40&order=price
    200 [{"price":"plane"},{"price":"drill"}]
  GET /rpc/prices?select=label:name&label=eq.saw | 200 [{"label":"saw"}]
  GET /tools?select=id&nope=eq.1 | 400 42703 | column tools.nope does not exist |  | Perhaps you meant to reference the column "tools.name".
`;

suite.answers("aggregates")`
  GET /tools?select=maker_id.count(distinct) | 200 [{"count":2}]
  GET /tools?select=price.percentile_cont(0.5) | 200 [{"percentile_cont":45}]
  GET /tools?select=price.percentile_disc(@f)&@f=1 | 200 [{"percentile_disc":99}]
  GET /tools?select=a:maker_id.array_agg(distinct),b:name.string_agg('-')&id=lt.3
    200 [{"a":[1],"b":"saw-drill"}]
  GET /tools?select=a:name.left(1).string_agg('',distinct) | 200 [{"a":"dprs"}]
  GET /tools?select=a:id.stddev_pop().round(3),b:id.var_pop().round(2),c:id.variance().round(2),
    +d:id.stddev().round(2)
    200 [{"a":1.118,"b":1.25,"c":1.67,"d":1.29}]
  GET /tools?select=maker_id.mode(),b:id.sum(distinct),c:maker_id.avg(distinct)
    200 [{"mode":1,"b":10,"c":1.5}]
  GET /tools?select=a:id::bool.bool_or(),b:maker_id::bool.bool_and() | 200 [{"a":true,"b":true}]
  GET /tools?select=m:bought.date_trunc(month)::date,n:count()&order=m
    200 [{"m":"2024-01-01","n":1},{"m":"2024-02-01","n":1},{"m":null,"n":2}]
  GET /tools?select=price.avg().round(2),n:count().add(1) | 200 [{"avg":58.17,"n":5}]
  GET /tools?select=b:price.coalesce(0).div(50).floor(),count()&order=b
    200 [{"b":0,"count":3},{"b":1,"count":1}]
  GET /tools?select=b:price.coalesce(0).div(50),count()&order=price.coalesce(0).div(50).desc
    +&limit=1
    200 [{"b":1.98,"count":1}]
  GET /tools?select=maker_id,t:price.sum()&order=t.desc.nullslast
    200 [{"maker_id":1,"t":129.5},{"maker_id":2,"t":45},{"maker_id":null,"t":null}]
  GET /tools?select=maker_id&order=maker_id
    200 [{"maker_id":1},{"maker_id":1},{"maker_id":2},{"maker_id":null}]
  GET /tools?select=bought,...makers(name,top:id.percentile_cont(0.5))&order=bought&limit=2
    200 [{"bought":"2024-01-02","name":"Bosk","top":1},{"bought":"2024-02-03","name":"Bosk",
      +"top":1}]
`;

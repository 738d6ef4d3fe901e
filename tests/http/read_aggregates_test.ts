/** Aggregates: automatic groups, in embeds and through spreads. */
import { serviceSuite } from "../support/handler/api.ts";

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbAggregatesEnabled: true,
}, { title: "aggregating tools" });

suite.answers("aggregates")`
  GET /tools?select=count(),spec->w->>unit&order=spec->w->>unit
    200 [{"count":1,"unit":"kg"},{"count":3,"unit":null}]
  GET /tools?select=count(),name:bought&order=bought&limit=2
    200 [{"count":1,"name":"2024-01-02"},{"count":1,"name":"2024-02-03"}]
  GET /makers?select=*,count()&id=eq.1 | 200 [{"id":1,"name":"Bosk","city":"Ulm","count":1}]
  GET /makers?select=name,tools(maker_id,count())&order=id
    200 [{"name":"Bosk","tools":[{"maker_id":1,"count":2}]},
      +{"name":"Ryo","tools":[{"maker_id":2,"count":1}]},{"name":"Idle","tools":[]}]
  GET /tools?select=count(),makers(name)&order=maker_id&maker_id=eq.1 | 400 42803 | column "tools.maker_id" must appear in the GROUP BY clause or be used in an aggregate function
  GET /tools?select=price.sum(),...makers(city)&order=makers(city)
    200 [{"sum":45,"city":"Kobe"},{"sum":129.5,"city":"Ulm"},{"sum":null,"city":null}]
  // JSON that groups compare.
  GET /manuals?select=count(),...tools(makers(name))
    200 [{"count":2,"makers":{"name":"Bosk"}}]
  GET /makers?select=count(),tools(name)&id=eq.3 | 200 [{"count":1,"tools":[]}]
  GET /tools?select=...makers(count(),id.max()) | 200 [{"count":3,"max":2}]
  GET /tool_sheds?select=shed_id,...tools(...makers(city,ids:id.sum()))&order=shed_id
    200 [{"shed_id":1,"city":"Ulm","ids":2},{"shed_id":2,"city":"Ulm","ids":1}]
  GET /sheds?select=title,tool_sheds(...tools(price.sum()))&order=id
    200 [{"title":"north","tool_sheds":[{"sum":129.5}]},
      +{"title":"south","tool_sheds":[{"sum":30.5}]}]
  GET /makers?select=name,tools!inner(count())&order=id
    200 [{"name":"Bosk","tools":[{"count":2}]},{"name":"Ryo","tools":[{"count":1}]}]
  GET /makers?select=tools(makers(tools(name,tool_sheds!inner(count()))))&id=eq.2
    200 [{"tools":[{"makers":{"tools":[]}}]}]
  GET /rpc/prices?select=price.sum(),count() | 200 [{"sum":174.5,"count":4}]
  GET /makers?select=...tools(price.sum()) | 400 SVC119 | A spread operation on 'tools' is not possible | 'makers' and 'tools' do not form a many-to-one or one-to-one relationship
`;

suite.answers("a total counts groups")`
  GET /tools?select=count(),maker_id&order=maker_id&limit=1 {Prefer: count=exact}
    206 [{"count":2,"maker_id":1}]
    Content-Range: 0-0/3
`;

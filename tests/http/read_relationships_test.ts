/** Which relationship a target and a hint mean. */
import { serviceSuite } from "../support/handler/api.ts";
import { answers, type Row } from "../support/handler/rows.ts";

const suite = serviceSuite("relationships", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
});

const mine = { name: "mine" };

suite.rows("one key between two relations", [
  ...["sites", "visits_site", "site_id", "sites!visits_site", "sites!site_id", "sites!id"].map(
    (target) => [`GET /visits?select=x:${target}(name)&id=eq.1`, {}, 200, [{ x: mine }]] as const,
  ),
  ...answers()`
    GET /people?select=name,badges(code)&order=id&limit=3
      200 [{"name":"Ann","badges":{"code":"gold"}},{"name":"Ben","badges":{"code":null}},
        +{"name":"Cid","badges":null}]
    GET /people?select=name,badges()&badges=is.null&order=id | 200 [{"name":"Cid"},{"name":"Dot"}]
    GET /keys?select=id,rooms(label)&order=id
      200 [{"id":1,"rooms":{"label":"attic"}},{"id":2,"rooms":{"label":"cellar"}},
        +{"id":3,"rooms":null}]
    GET /rooms?select=label,keys!keys_room(id)&order=house,number
      200 [{"label":"hall","keys":[]},{"label":"attic","keys":[{"id":1}]},
        +{"label":"cellar","keys":[{"id":2}]}]
    GET /rooms?select=label,keys!inner()&order=label&limit=1 | 200 [{"label":"attic"}]
  `,
]);

suite.rows("several keys between two relations", [
  ...["visits!visits_guide", "visits!guide_id", "visits_guide"].map(
    (target) =>
      [`GET /people?select=x:${target}(id)&id=eq.1&x.order=id`, {}, 200, [
        { x: [{ id: 1 }, { id: 2 }] },
      ]] as const,
  ),
  ...answers()`
    GET /visits?select=nope(*)
      400 SVC200 | Could not find a relationship between 'visits' and 'nope' in the schema cache | Searched for a foreign key relationship between 'visits' and 'nope' in the schema 'api', but no matches were found. | Perhaps you meant 'people' instead of 'nope'.
  `,
  ...([
    ["visitors", "sitings", ""],
    ["sitings", "visitors", ""],
    ["visitors", "sitings", "seen"],
    ["visitors", "siting", ""],
    ["people", "people_boss", "", "Perhaps you meant 'people' instead of 'people_boss'."],
    ["people", "people", "people_boss"],
  ] as const).map(([origin, target, by, hint = null]): Row => [
    `GET /${origin}?select=${target}${by && `!${by}`}(*)`,
    {},
    400,
    {
      code: "SVC200",
      message:
        `Could not find a relationship between '${origin}' and '${target}' in the schema cache`,
      details: `Searched for a foreign key relationship between '${origin}' and '${target}'` +
        `${by && ` using the hint '${by}'`} in the schema 'api', but no matches were found.`,
      hint,
    },
  ]),
  ...answers()`
    GET /visits?select=id,guide:visits_guide(name)&order=guide(name).desc.nullslast,id&limit=2
      200 [{"id":3,"guide":{"name":"Ben"}},{"id":1,"guide":{"name":"Ann"}}]
    GET /people?select=a:visits!visits_guide(id),b:visits!visits_guest(id)&b.id=gt.1&id=eq.2
      200 [{"a":[{"id":3}],"b":[]}]
  `,
]);

suite.answers("keys to oneself")`
  GET /people?select=name,boss:boss_id(name)&id=eq.4 | 200 [{"name":"Dot","boss":{"name":"Ben"}}]
  GET /family?select=name,children:family!parent(name,children:family!parent(name))&id=eq.1
    200 [{"name":"root","children":[{"name":"twig","children":[{"name":"leaf"},{"name":"bud"}]}]}]
  GET /family?select=name,parent(name,parent(name))&id=eq.3
    200 [{"name":"leaf","parent":{"name":"twig","parent":{"name":"root"}}}]
  GET /chain?select=id,next_id(id,next_id(id))&order=id
    200 [{"id":1,"next_id":{"id":2,"next_id":{"id":3}}},{"id":2,"next_id":{"id":3,"next_id":null}},
      +{"id":3,"next_id":null}]
  GET /chain?select=id,before:chain!next_id(id)&order=id
    200 [{"id":1,"before":null},{"id":2,"before":{"id":1}},{"id":3,"before":{"id":2}}]
  GET /chain?select=id,...next_id(next:id)&next_id=is.null | 200 [{"id":3,"next":null}]
  GET /chain?select=id,n:next_id(id)&order=n(id).desc.nullslast&n=not.is.null
    200 [{"id":2,"n":{"id":3}},{"id":1,"n":{"id":2}}]
  GET /people?select=name,followers:follows!followed_id(...people!follower_id(name))&id=eq.4
    200 [{"name":"Dot","followers":[{"name":"Ann"}]}]
`;

suite.answers("views with keys of their tables")`
  GET /sites?select=name,open_visits(id)&open_visits.order=id&id=eq.1
    200 [{"name":"mine","open_visits":[{"id":1},{"id":2}]}]
  GET /visits?select=id,doubled(name)&order=id&limit=3
    200 [{"id":1,"doubled":{"name":"mine"}},{"id":1,"doubled":{"name":"mine"}},
      +{"id":2,"doubled":{"name":"mine"}}]
`;

suite.answers("columns of the name of an embed")`
  GET /tickets?select=id,states(name)&order=id
    200 [{"id":1,"states":{"name":"open"}},{"id":2,"states":{"name":null}},{"id":3,"states":null}]
  GET /tickets?select=id,status(*)&status=eq.3 | 200 [{"id":2,"status":{"id":3,"name":null}}]
  GET /tickets?select=id,status()&status=is.null | 200 [{"id":3}]
  GET /tickets?select=id,states()&states=eq.x | 200 [{"id":1}]
  GET /tickets?select=id,s:states()&states=not.is.null&order=id | 200 [{"id":1},{"id":3}]
  GET /tickets?select=id,states()&states=not.is.null&order=id | 200 [{"id":1},{"id":2}]
`;

const deep = (select: string, rest = "") =>
  `GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(${select})))&b.b.p.order=name${rest}`;
const found = (...people: readonly unknown[]) => [{ b: { b: { p: people } } }];

suite.rows("levels deep down are chosen by their embeds", [
  ...answers()`
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name
      +,q:people!boss_id!inner(name))))&b.b.p.order=name
      200 [{"b":{"b":{"p":[{"name":"Ben","q":[{"name":"Dot"}]}]}}}]
  `,
  [deep("name,q:people!boss_id(name)", "&b.b.p.q=is.null"), {}, 200, found({ name: "Cid", q: [] })],
  [deep("name,q:people!boss_id()", "&b.b.p.q=not.is.null"), {}, 200, found({ name: "Ben" })],
  ...answers()`
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,q:people!boss_id(name))))
      +&b.b.p.order=name&b.b.p.or=(q.not.is.null,name.eq.Cid)
      200 [{"b":{"b":{"p":[{"name":"Ben","q":[{"name":"Dot"}]},{"name":"Cid","q":[]}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,q:people!boss_id())))
      +&b.b.p.order=name&b.b.p.or=(q.is.null,q.not.is.null)&b.b.p.limit=1
      200 [{"b":{"b":{"p":[{"name":"Ben"}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,badges!inner(code))))
      +&b.b.p.order=name&b.b.p.limit=1
      200 [{"b":{"b":{"p":[{"name":"Ben","badges":{"code":null}}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,badges())))
      +&b.b.p.order=name&b.b.p.badges=is.null
      200 [{"b":{"b":{"p":[{"name":"Cid"}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,...badges(code))))
      +&b.b.p.order=name&b.b.p.badges=is.null
      200 [{"b":{"b":{"p":[{"name":"Cid","code":null}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,...badges!inner(code))))
      +&b.b.p.order=name
      200 [{"b":{"b":{"p":[{"name":"Ben","code":null}]}}}]
    GET /people?id=eq.4&select=b:boss_id(b:boss_id(p:people!boss_id(name,badges(code))))
      +&b.b.p.order=badges(code),name.desc
      200 [{"b":{"b":{"p":[{"name":"Cid","badges":null},{"name":"Ben","badges":{"code":null}}]}}}]
  `,
]);

/** Keys and relationships of views in the schema cache. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { relationshipLine } from "../support/database/relationship_line.ts";
import {
  relation,
  relationshipLines,
  schemaCacheLoader,
} from "../support/database/schema_cache.ts";

const loaded = schemaCacheLoader();

const privateTables = `
  create schema priv; create schema api;
  create table priv.people (id int primary key, name text);
  create table priv.notes (
    id int primary key, author int references priv.people, reviewer int references priv.people,
    body text
  );
  create view api.people as select id, name from priv.people;
  create view api.notes as select id as note_id, author as author_id, body from priv.notes;
  create view api.all_notes as select * from priv.notes;
  create view api.shouts as select note_id, author_id, upper(body) as body from api.notes;
  create view api.mixed as select id from priv.notes union select id from priv.people;
  create function api.initials(api.people) returns text stable language sql
    as 'select left($1.name, 1)';
`;

Deno.test("schema cache relates views of private tables", async () => {
  const cache = await loaded(privateTables);
  deepStrictEqual(cache.relationNames("api"), ["all_notes", "mixed", "notes", "people", "shouts"]);
  deepStrictEqual(cache.data.relations.map((r) => [r.name, r.isView, r.primaryKey]), [
    ["all_notes", true, ["id"]],
    ["mixed", true, []],
    ["notes", true, ["note_id"]],
    ["people", true, ["id"]],
    ["shouts", true, ["note_id"]],
  ]);
  const { insertable, updatable, deletable } = relation(cache, "notes");
  deepStrictEqual([insertable, updatable, deletable], [true, true, true]);
  const mixed = relation(cache, "mixed");
  deepStrictEqual([mixed.insertable, mixed.updatable, mixed.deletable], [false, false, false]);
  deepStrictEqual(cache.data.relationships.map(relationshipLine), [
    "[all_notes] many-to-one [people] by notes_author_fkey author=id",
    "[all_notes] many-to-one [people] by notes_reviewer_fkey reviewer=id",
    "[notes] many-to-one [people] by notes_author_fkey author_id=id",
    "[people] one-to-many [all_notes] by notes_author_fkey id=author",
    "[people] one-to-many [all_notes] by notes_reviewer_fkey id=reviewer",
    "[people] one-to-many [notes] by notes_author_fkey id=author_id",
    "[people] one-to-many [shouts] by notes_author_fkey id=author_id",
    "[shouts] many-to-one [people] by notes_author_fkey author_id=id",
  ]);
  deepStrictEqual(cache.relatedOrigins("api"), ["all_notes", "notes", "people", "shouts"]);
  deepStrictEqual(cache.routineNames("api"), []);
});
/** Views over api.t (id, fk → api.p, name, price): [SQL, columns that are tracked]. */
const trackedViews: readonly (readonly [sql: string, columns: string])[] = [
  ["select id as i, fk from api.t", "i,fk"],
  ["select t.id, b.id as bid, t.fk from api.p b join api.t on b.id = t.fk", "id,bid,fk"],
  ["select x.id, x.fk from (select id, fk from api.t) x", "id,fk"],
  ["with w as (select id, fk from api.t) select id, fk from w", "id,fk"],
  [
    "select id, (select count(*) from api.t) n, case when fk > 1 then fk end c, upper(name) u from api.t",
    "id",
  ],
  ["select id, coalesce(fk, 0) as fk from api.t", "id"],
  ["select fk::bigint as fk from api.t", ""],
  ["select id, fk from api.t union select id, fk from api.t", ""],
  ["select id, fk from api.t union all select id, fk from api.t", ""],
  ["select id, fk from api.t intersect select id, fk from api.t", ""],
  ["select id, fk from api.t except select id, fk from api.t", ""],
  ["select fk, count(*) from api.t group by fk", "fk"],
  ["select fk, count(*) from api.t group by rollup (fk)", "fk"],
  ["select distinct fk from api.t", "fk"],
  ["select id, fk from api.t order by price", "id,fk"],
  ["select id, fk, row_number() over (order by price) from api.t", "id,fk"],
  ["select id, fk from api.t where id in (select fk from api.t)", "id,fk"],
  ["select t.id, l.fk from api.t, lateral (select t.fk) l", "id,fk"],
  ["select id, t.fk from api.t full join (select id, 1 as one from api.t) u using (id)", "fk"],
  ["select f.id, f.fk from api.rows_of() f", ""],
  ["select fk as f1, fk as f2 from api.t", "f1,f2"],
  ["select id, fk from api.base", "id,fk"],
  ["select id, fk from extra.base", "id,fk"],
  ["select id, fk from hidden.base", ""],
  ["select id, fk from api.t limit (select max(id) from api.t)", "id,fk"],
  ["select id, fk from api.t group by id having count(*) > (select min(id) from api.t)", "id,fk"],
  [
    `select id as "a (b) {VAR :x} \\", fk as ":resorigtbl" from api.t`,
    "a (b) {VAR :x} \\,:resorigtbl",
  ],
];

Deno.test("schema cache tracks plain columns of views", async (context) => {
  const views = trackedViews.map(([sql], index) => `create view api.v${index} as ${sql};`);
  const cache = await loaded(
    `
      create schema api; create schema extra; create schema hidden;
      create table api.p (id int primary key);
      create table api.t (id int primary key, fk int constraint k references api.p, name text, price int);
      create function api.rows_of() returns setof api.t language sql as 'select * from api.t';
      create view api.base as select * from api.t;
      create view extra.base as select * from api.base;
      create view hidden.base as select * from api.t;
      ${views.join("\n")}
    `,
    { extra: ["extra"] },
  );
  for (const [index, [sql, columns]] of trackedViews.entries()) {
    await context.step(sql, () => {
      const found = [
        ...relation(cache, `v${index}`).primaryKey,
        ...cache.relationships({ schema: "api", name: `v${index}` }, "api").flatMap((r) =>
          r.kind === "many-to-one" && r.foreign.name === "p" ? r.pairs.map(([own]) => own) : []
        ),
      ];
      strictEqual(found.join(), columns);
    });
  }
});

Deno.test("schema cache tracks materialized views, and keys of several tables", async () => {
  const cache = await loaded(`
    create schema api;
    create table api.p (x int, y int, primary key (y, x));
    create table api.c (id int primary key, x int, y int, constraint k foreign key (x, y) references api.p (x, y));
    create materialized view api.stored as select y as b, x as a, id from api.c;
    create view api.both as select c.id as c_id, p.x, p.y from api.c join api.p using (x, y);
    create view api.half as select id, x from api.c;
  `);
  deepStrictEqual(relationshipLines(cache, "stored"), [
    "[stored] many-to-one [both] by k a=x,b=y",
    "[stored] many-to-one p by k a=x,b=y",
  ]);
  deepStrictEqual(relation(cache, "stored").primaryKey, ["id"]);
  deepStrictEqual(relation(cache, "both").primaryKey, ["c_id", "y", "x"]);
  deepStrictEqual(relationshipLines(cache, "half"), []);
});

Deno.test("schema cache keeps repeated key columns of views and junction views apart", async () => {
  const cache = await loaded(`
    create schema api; create schema priv;
    create table api.a (id int primary key); create table api.b (id int primary key);
    create table priv.ab (a_id int constraint ka references api.a,
      b_id int constraint kb references api.b, primary key (a_id, b_id));
    create view api.ab as select a_id, b_id, b_id as again from priv.ab;
    create view api.aa as select id as one, id as two from api.a;
  `);
  deepStrictEqual(relationshipLines(cache, "a"), [
    "a one-to-many [ab] by ka id=a_id",
    "a many-to-many b by ab(ka id=a_id; kb b_id=id)",
  ]);
  deepStrictEqual(relationshipLines(cache, "ab"), [
    "[ab] many-to-one a by ka a_id=id",
    "[ab] many-to-one [aa] by ka a_id=one",
    "[ab] many-to-one [aa] by ka a_id=two",
    "[ab] many-to-one b by kb again=id",
    "[ab] many-to-one b by kb b_id=id",
  ]);
  deepStrictEqual(relation(cache, "aa").primaryKey, ["one"]);
});

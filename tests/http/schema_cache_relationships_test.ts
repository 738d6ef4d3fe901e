/** Relationships between tables in the schema cache. */
import { deepStrictEqual } from "node:assert/strict";
import {
  relation,
  relationshipLines,
  schemaCacheLoader,
} from "../support/database/schema_cache.ts";

const loaded = schemaCacheLoader();

Deno.test("schema cache tells one-to-one and many-to-many by constraints", async () => {
  const cache = await loaded(`
    create schema api;
    create table api.countries (id int primary key);
    create table api.flags (code text primary key, country int unique references api.countries);
    create table api.a (id int primary key); create table api.b (id int primary key);
    create table api.ab (a_id int references api.a, b_id int references api.b, primary key (a_id, b_id));
    create table api.ab2 (id int primary key, a_id int references api.a, b_id int references api.b);
    create table api.ab3 (
      a_id int references api.a, b_id int references api.b, n int, primary key (n, a_id, b_id)
    );
    create unique index on api.ab2 (a_id);
  `);
  deepStrictEqual(relationshipLines(cache, "flags"), [
    "flags one-to-one countries by flags_country_fkey country=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "countries"), [
    "countries one-to-one flags by flags_country_fkey id=country parent",
  ]);
  deepStrictEqual(relationshipLines(cache, "ab2", "a"), [
    "ab2 many-to-one a by ab2_a_id_fkey a_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "a", "b"), [
    "a many-to-many b by ab(ab_a_id_fkey id=a_id; ab_b_id_fkey b_id=id)",
    "a many-to-many b by ab3(ab3_a_id_fkey id=a_id; ab3_b_id_fkey b_id=id)",
  ]);
  deepStrictEqual(relation(cache, "ab3").primaryKey, ["a_id", "b_id", "n"]);
});

Deno.test("schema cache compares whole column sets for one-to-one", async () => {
  const cache = await loaded(`
    create schema api;
    create table api.p (x int, y int, primary key (x, y));
    create table api.same (y int, x int, unique (y, x),
      constraint same foreign key (x, y) references api.p);
    create table api.wider (x int, y int, z int, unique (x, y, z),
      constraint wider foreign key (x, y) references api.p);
    create table api.narrower (x int unique, y int,
      constraint narrower foreign key (x, y) references api.p);
  `);
  deepStrictEqual(relationshipLines(cache, "p"), [
    "p one-to-many narrower by narrower x=x,y=y",
    "p one-to-one same by same x=x,y=y parent",
    "p one-to-many wider by wider x=x,y=y",
  ]);
});

Deno.test("schema cache derives relationships of self-references, several foreign keys and views", async () => {
  const cache = await loaded(`
    create schema api;
    create table api.sites (id int primary key);
    create table api.people (id int primary key, boss_id int references api.people);
    create table api.badges (person_id int primary key references api.people);
    create table api.visits (
      id int primary key,
      site_id int constraint visits_site references api.sites,
      guide_id int constraint visits_guide references api.people,
      guest_id int constraint visits_guest references api.people
    );
    create view api.open_visits as select id, site_id, guide_id from api.visits;
  `);
  deepStrictEqual(relationshipLines(cache, "visits"), [
    "visits many-to-one people by visits_guest guest_id=id",
    "visits many-to-one people by visits_guide guide_id=id",
    "visits many-to-one sites by visits_site site_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "people"), [
    "people one-to-one badges by badges_person_id_fkey id=person_id parent",
    "people one-to-many [open_visits] by visits_guide id=guide_id",
    "people one-to-many people by people_boss_id_fkey id=boss_id self",
    "people many-to-one people by people_boss_id_fkey boss_id=id self",
    "people one-to-many visits by visits_guest id=guest_id",
    "people one-to-many visits by visits_guide id=guide_id",
  ]);
  deepStrictEqual(relationshipLines(cache, "badges"), [
    "badges one-to-one people by badges_person_id_fkey person_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "open_visits"), [
    "[open_visits] many-to-one people by visits_guide guide_id=id",
    "[open_visits] many-to-one sites by visits_site site_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "sites"), [
    "sites one-to-many [open_visits] by visits_site id=site_id",
    "sites one-to-many visits by visits_site id=site_id",
  ]);
});

Deno.test("schema cache counts the foreign keys of partitions once", async () => {
  const cache = await loaded(`
    create schema api;
    create table api.sites (id int primary key);
    create table api.logs (id int, site_id int references api.sites, primary key (id))
      partition by range (id);
    create table api.logs1 partition of api.logs for values from (0) to (10);
    create table api.logs2 partition of api.logs for values from (10) to (20);
    create table api.lines (id int primary key, log_id int references api.logs);
    create view api.some_logs as select id, site_id from api.logs;
    create view api.logs_of_one as select id, site_id from api.logs1;
  `);
  deepStrictEqual(cache.relationNames("api"), [
    "lines",
    "logs",
    "logs_of_one",
    "sites",
    "some_logs",
  ]);
  deepStrictEqual(relationshipLines(cache, "logs"), [
    "logs one-to-many lines by lines_log_id_fkey id=log_id",
    "logs many-to-one sites by logs_site_id_fkey site_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "some_logs"), [
    "[some_logs] one-to-many lines by lines_log_id_fkey id=log_id",
    "[some_logs] many-to-one sites by logs_site_id_fkey site_id=id",
  ]);
  deepStrictEqual(relationshipLines(cache, "logs_of_one"), []);
  deepStrictEqual(relation(cache, "logs_of_one").primaryKey, ["id"]);
});
Deno.test("schema cache makes computed relationships of functions over rows", async () => {
  const cache = await loaded(
    `
      create schema api; create schema v2; create schema hidden;
      create table api.makers (id int primary key);
      create table api.tools (id int primary key, maker_id int references api.makers);
      create view api.tool_view as select * from api.tools;
      create table v2.other (id int);
      create table hidden.t (id int);
      create function api.pricey(makers api.makers) returns setof api.tools stable language sql
        as 'select * from api.tools';
      create function api.latest(api.makers) returns setof api.tools rows 1 stable language sql
        as 'select * from api.tools';
      create function api.one(api.makers) returns api.tools stable language sql
        as 'select * from api.tools limit 1';
      create function api.one(api.tools) returns api.tool_view stable language sql
        as 'select * from api.tool_view limit 1';
      create function api.tools(api.makers) returns setof api.tool_view stable language sql
        as 'select * from api.tool_view';
      create function api.same(api.makers) returns setof api.makers stable language sql as 'select $1';
      create function api.two(api.makers, int) returns setof api.tools stable language sql
        as 'select * from api.tools';
      create function api.scalar(api.makers) returns int stable language sql as 'select 1';
      create function api.of_hidden(hidden.t) returns setof api.tools stable language sql
        as 'select * from api.tools';
      create function api.to_hidden(api.makers) returns setof hidden.t stable language sql
        as 'select * from hidden.t';
      create function api.to_other(api.makers) returns setof v2.other stable language sql
        as 'select * from v2.other';
      create function hidden.far(api.makers) returns setof api.tools stable language sql
        as 'select * from api.tools';
    `,
    { schemas: ["api", "v2"] },
  );
  deepStrictEqual(relationshipLines(cache, "makers"), [
    "makers to-many makers by same()",
    "makers to-many other by to_other()",
    "makers one-to-many [tool_view] by tools_maker_id_fkey id=maker_id",
    "makers to-many tool_view by tools()",
    "makers to-one tools by latest()",
    "makers to-one tools by one()",
    "makers to-many tools by pricey()",
  ]);
  deepStrictEqual(relationshipLines(cache, "tools"), [
    "tools many-to-one makers by tools_maker_id_fkey maker_id=id",
    "tools to-one tool_view by one()",
  ]);
  deepStrictEqual(cache.routineNames("api"), ["pricey"]);
});

Deno.test("schema cache lists schemas that junctions in other schemas connect", async () => {
  const cache = await loaded(
    `
      create schema api; create schema v2; create schema hidden;
      create table api.makers (id int primary key);
      create table api.tools (id int primary key);
      create view api.tool_view as select id from api.tools;
      create table v2.sheds (id int primary key);
      create table api.alone (id int primary key);
      create table hidden.owns (
        maker int references api.makers, tool int references api.tools, primary key (maker, tool)
      );
      create table hidden.keeps (
        shed int references v2.sheds, tool int references api.tools, primary key (shed, tool)
      );
      create table hidden.logs (
        id int primary key, tool int references api.tools, maker int references api.makers
      );
      create table hidden.once (
        maker int unique references api.makers, alone int references api.alone, primary key (maker, alone)
      );
    `,
    { schemas: ["api", "v2"] },
  );
  deepStrictEqual(
    cache.data.relations.map(({ name, hiddenJunctionsTo }) => [name, hiddenJunctionsTo]),
    [
      ["alone", undefined],
      ["makers", ["api"]],
      ["tool_view", ["api", "v2"]],
      ["tools", ["api", "v2"]],
      ["sheds", ["api"]],
    ],
  );
  deepStrictEqual(cache.data.relationships, []);
});

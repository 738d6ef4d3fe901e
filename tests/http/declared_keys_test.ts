/** Keys that comments declare. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { TypeCatalogue } from "../../src/state/schema_cache/queries/type_catalogue.ts";
import { databaseTypes } from "../../src/wings/types/database_types.ts";
import type { SchemaCache } from "../../src/state/schema_cache/schema_cache.ts";
import {
  relation,
  relationshipLines,
  schemaCacheLoader,
} from "../support/database/schema_cache.ts";
import { serviceSuite } from "../support/handler/api.ts";

const exposed = { dbSchemas: ["api", "finance"], dbAnonRole: "anon" };
const tagged = serviceSuite("declared_keys", { ...exposed, dbCommentTags: true }, {
  title: "keys in comments",
});

tagged.answers("a declared key relates")`
  GET /people?select=name,cities!city_id(name)&order=id
    200 [{"name":"Ann","cities":{"name":"Ulm"}},{"name":"Ben","cities":{"name":"Kobe"}},
      +{"name":"Cid","cities":null}]
  GET /people?select=name,cities!people_city_id_fkey()&cities=is.null | 200 [{"name":"Cid"}]
  GET /people?select=name,...cities!city_id(city:name)&id=eq.2
    200 [{"name":"Ben","city":"Kobe"}]
  GET /cities?select=name,people!people_city_id_fkey(name)&order=id
    200 [{"name":"Ulm","people":[{"name":"Ann"}]},{"name":"Kobe","people":[{"name":"Ben"}]}]
  GET /people?select=name,boss_id(name)&id=eq.2 | 200 [{"name":"Ben","boss_id":{"name":"Ann"}}]
  GET /people?select=name,people!boss_id(name)&id=eq.1&people.order=name
    200 [{"name":"Ann","people":[{"name":"Ben"},{"name":"Cid"}]}]
  GET /people?select=name,badges(code)&order=id&limit=1
    200 [{"name":"Ann","badges":{"code":"B1"}}]
  GET /badges?select=code,people(name)&person_id=eq.1
    200 [{"code":"B1","people":{"name":"Ann"}}]
  GET /people?select=name,cities!visits(name)&id=eq.1&cities.order=name
    200 [{"name":"Ann","cities":[{"name":"Kobe"},{"name":"Ulm"}]}]
  // PostgreSQL knows this key, so that the declared one has no effect.
  GET /projects?select=id,b:finance/budgets!budget_id(name)&id=eq.1
    200 [{"id":1,"b":{"name":"small"}}]
  GET /projects?select=id,finance/projects_budget(name)&id=eq.1
    200 [{"id":1,"projects_budget":{"name":"small"}}]
`;

tagged.test("the OpenAPI document has the keys and not their tags", async (api) => {
  const { definitions } = await (await api("GET /")).json();
  const { people, badges } = definitions;
  strictEqual(people.description, "People of the firm.\nThey are real.");
  strictEqual(people.properties.id.description, "Note:\nThis is a Primary Key.<pk/>");
  strictEqual(
    people.properties.city_id.description,
    "Note:\nThis is a Foreign Key to `cities.id`.<fk table='cities' column='id'/>",
  );
  strictEqual(badges.description, undefined);
});

const untagged = serviceSuite("declared_keys", exposed, { title: "comments without tags" });

untagged.test("texts keep what looks like tags", async (api) => {
  const { definitions } = await (await api("GET /")).json();
  match(definitions.badges.description, /^@unique \(person_id\)\n@foreignKey/);
});

const loaded = schemaCacheLoader();

const views = `
  create schema api;
  create table api.t (id int primary key, a int unique, b int, p int references api.t);
  create table api.u (id int primary key);
  create view api.v as select id + 0 as id, a + 0 as a, b + 0 as b, p from api.t;
  create view api.w as select id, a, b from api.t;
  create view api."Odd, one" as select 1 as "x.y", 2 as "(z)", 3 as "q""q";
`;

/** Returns the SQL of the views with these declarations, separated by `;`, in comments. */
function declaring(declarations: string): string {
  const keys = declarations.split(/; ?(?=v )/).map((text) => /^("[^"]+"|\w+) (.*)$/.exec(text)!);
  const [, name] = keys[0]!;
  const tags = keys.map(([, , key]) => `@${key}`).join("\n");
  return `${views} comment on ${name === "t" ? "table" : "view"} api.${name} is '${tags}';`;
}

/** One declaration and what comes of it. */
type Case = readonly [
  declarations: string,
  relationships: readonly string[],
  problems: readonly string[],
];

const cases: readonly Case[] = [
  ["v foreignKey (b) references u (id)", ["[v] many-to-one u by v_b_fkey b=id"], []],
  ["v foreignKey (b) references u (id) as other", ["[v] many-to-one u by other b=id"], []],
  ["v foreignKey (b) references u (id); v unique (b)", ["[v] one-to-one u by v_b_fkey b=id"], []],
  ["v foreignKey (b) references u (id);v primaryKey b", ["[v] one-to-one u by v_b_fkey b=id"], []],
  ["v foreignKey (a, b) references w (a, b)", ["[v] many-to-one [w] by v_a_b_fkey a=a,b=b"], []],
  // Keys of a table are found through the views that show them.
  [
    "t foreignKey (b) references u (id)",
    ["t many-to-one u by t_b_fkey b=id", "[w] many-to-one u by t_b_fkey b=id"],
    [],
  ],
  // The same key twice, and one that PostgreSQL knows.
  [
    "v foreignKey (b) references u (id); v foreignKey (b) references u (id) as again",
    ["[v] many-to-one u by v_b_fkey b=id"],
    [],
  ],
  ["t foreignKey (p) references t (id)", [], []],
  [
    '"Odd, one" foreignKey ("x.y", "(z)", "q""q") references api.t (id, a, b) as "k""; k"',
    [
      '[Odd, one] many-to-one t by k"; k x.y=id,(z)=a,q"q=b',
      '[Odd, one] many-to-one [w] by k"; k x.y=id,(z)=a,q"q=b',
    ],
    [],
  ],
  ["v primaryKey (nope); v foreignKey (b) references u (nope)", [], [
    'comment of api.v: relation api.v has no column "nope"',
    'comment of api.v: relation api.u has no column "nope"',
  ]],
  ["t primaryKey (a)", [], ["comment of api.t: relation api.t has another primary key"]],
  ["t primaryKey (id)", [], []],
];

for (const [relationships, lines, problems] of cases) {
  Deno.test(`a declared key relates: ${relationships}`, async () => {
    const before = await loaded(views);
    const after = await loaded(declaring(relationships), { tags: true });
    const known = new Set(allLines(before));
    deepStrictEqual(
      allLines(after).filter((line) => !known.has(line) && / (many|one)-to-one /.test(line)),
      lines,
    );
    deepStrictEqual(after.data.declarationProblems ?? [], problems);
  });
}

function allLines(cache: SchemaCache): readonly string[] {
  return cache.relationNames("api").flatMap((name) => relationshipLines(cache, name))
    .filter((line) => !line.endsWith(" parent"));
}

Deno.test("a declared primary key is the key of its relation", async () => {
  const cache = await loaded(declaring("w primaryKey (b, a)"), { tags: true });
  deepStrictEqual(relation(cache, "w").primaryKey, ["b", "a"]);
  deepStrictEqual(relation(await loaded(views), "w").primaryKey, ["id"]);
});

Deno.test("comments of the schema cache are without the tag @primary", async () => {
  const sql = `${views}
    create function api.f(a int) returns int stable language sql as 'select 1';
    create function api.of_t(api.t) returns int stable language sql as 'select 1';
    comment on function api.f is E'Text\n@primary';
    comment on function api.of_t is '@primary';
    comment on view api.v is '@primary';
    comment on view api.w is 'Text';`;
  const cache = await loaded(sql, { tags: true });
  deepStrictEqual(cache.data.primaryFunctions, ["f", "of_t"]);
  strictEqual(cache.routines({ schema: "api", name: "f" })[0]!.comment, "Text");
  strictEqual(relation(cache, "v").readsFrom, "primary");
  strictEqual(relation(cache, "v").comment, null);
  strictEqual(relation(cache, "w").readsFrom, undefined);
  strictEqual((await loaded(sql)).data.primaryFunctions, undefined);
});

Deno.test("types list declared keys beside those that PostgreSQL knows", async () => {
  const cache = await loaded(declaring("v foreignKey (b) references u (id)"), { tags: true });
  const noTypes: TypeCatalogue = {
    composites: [],
    domains: [],
    enums: [],
    readOnlyColumns: [],
    results: [],
  };
  const types = databaseTypes(cache.data, noTypes, { dbSchemas: ["api"] });
  const [, ofView = ""] = /^ {6}v: \{(.*?)^ {6}\}/ms.exec(types) ?? [];
  match(ofView, /foreignKeyName: "v_b_fkey"[^}]*referencedRelation: "u"/);
});

Deno.test("comments declare keys by whole words, and other lines stay", async () => {
  const comment = (text: string) => `${views} comment on view api.v is E'${text}'`;
  const load = async (text: string, tags = true) => {
    const cache = await loaded(comment(text), { tags });
    const { comment: left, primaryKey } = relation(cache, "v");
    return [left, primaryKey, cache.data.declarationProblems ?? []];
  };
  deepStrictEqual(await load("@primaryKey (id)"), [null, ["id"], []]);
  deepStrictEqual(await load("@primaryKey (id)", false), ["@primaryKey (id)", [], []]);
  deepStrictEqual(await load("One.\\r\\n @primaryKey a , b\\r\\nTwo."), [
    "One.\nTwo.",
    ["a", "b"],
    [],
  ]);
  deepStrictEqual(await load("@primaryKeys (id)\\n@primaryId"), [
    "@primaryKeys (id)\n@primaryId",
    [],
    [],
  ]);
  deepStrictEqual(await load("mail me@primaryKey (id)"), ["mail me@primaryKey (id)", [], []]);
});

const unreadable = [
  "primaryKey (id) x",
  "primaryKey ()",
  "primaryKey (a",
  'primaryKey ("a)',
  "primaryKey (a) references t (b)",
  "unique",
  "foreignKey (a)",
  "foreignKey (a) references",
  "foreignKey (a) references t",
  "foreignKey (a) references t (b) as",
];
const expected =
  "expected primaryKey (a), unique (a), or foreignKey (a) references b (c) [as name]";

Deno.test("a key that cannot be read has no effect", async () => {
  const uneven = "foreignKey (a) references t (a, b)";
  const keys = [...unreadable, uneven].map((key) => `v ${key}`).join("; ");
  const cache = await loaded(declaring(keys), { tags: true });
  deepStrictEqual(cache.data.declarationProblems, [
    ...unreadable.map((key) => `comment of api.v: @${key}: ${expected}`),
    `comment of api.v: @${uneven}: the numbers of columns differ`,
  ]);
});

Deno.test("a warning names declarations without effect", async () => {
  const cache = await loaded(await Deno.readTextFile("tests/fixtures/declared_keys.sql"), {
    schemas: ["api", "finance"],
    tags: true,
  });
  deepStrictEqual(cache.data.declarationProblems, [
    "comment of api.projects: relation api.projects has another primary key",
    'comment of api.projects: relation api.projects has no column "nope"',
    "comment of api.projects: relation private.plans does not exist in an exposed schema",
    `comment of api.projects: @unique: ${expected}`,
  ]);
});

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { parse } from "libpg-query";
import { placeAt, placeOfCharacter, splitStatements } from "../../../../src/base/sql/statements.ts";

const texts: readonly string[] = [
  "",
  ";;",
  "select 1",
  "select 1;",
  "  select 1 ; select 2  ",
  "select ';'; select 2",
  "select 'it''s;'; select 2",
  "select 'a\\'; select 2",
  "select e'a\\';'; select 2",
  "select E'a'';'; select 2",
  "select n';'; select b'1'; select x'ff'; select u&'\\0041;'",
  'select 1 as ";"; select 2 as "a"";"',
  "select $$;$$; select 2",
  "select $a$;$$;$b$;$a$; select 2",
  "select $ü1$;$ü1$; select 2",
  "select 1 -- ;\n; select 2",
  "select 1 -- '\n; select 2",
  "select 1 /* ; */; select 2",
  "select 1 /* /* ; */ ; */; select 2",
  "select 1/*;*/+2; select 3",
  "select 4 / 2; select 3 * 2",
  "select a$b$c from t; select 2",
  "select 1 where 1=1;-- end",
  "/* first */ select 1; /* second */ select 2; -- last",
  "create rule r as on insert to t do (insert into a values (1); insert into b values (2)); select 1",
  "create function f() returns int language sql as $$ select 1; $$; select 2",
  "create function f() returns int begin atomic select 1; select 2; end; select 3",
  "create or replace function f(a int) returns int begin atomic select case when a > 1 then 1 else 2 end; " +
  "select 2; end; select 3",
  "CREATE PROCEDURE p() BEGIN ATOMIC INSERT INTO t VALUES (1); END; SELECT 3",
  "begin; select 1; end; select 2",
  "do $do$ begin perform 1; end $do$; select 2",
  "select array[1, 2]; select (array[1])[1]",
  "select 'ü', '😀'; select 2",
  'create table "😀" (a int); select 2',
  "select 1;\r\nselect 2;\r\n",
  "select 1::text; select 'x'::text",
  "select 1e5, .5, 0x1f; select 2",
  "create view v as select case when true then 1 end as begin; select 2",
  "prepare p as select $1; execute p(1)",
  "select 'a'\n';'; select 2",
];

/** Statements by PostgreSQL's own parser, without the blanks and comments before them. */
async function parsedStatements(text: string): Promise<readonly string[]> {
  const bytes = new TextEncoder().encode(text);
  const decode = (start: number, end: number) => new TextDecoder().decode(bytes.slice(start, end));
  const { stmts = [] } = await parse(text);
  return stmts.map((statement: { stmt_location?: number; stmt_len?: number }) => {
    const start = statement.stmt_location ?? 0;
    const end = statement.stmt_len ? start + statement.stmt_len : bytes.length;
    return withoutComments(decode(start, end));
  });
}

/** Removes leading blanks and comments, and trailing blanks. */
function withoutComments(text: string): string {
  const trimmed = text.trim();
  const rest = trimmed.replace(/^(?:--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)/, "");
  return rest === trimmed ? trimmed : withoutComments(rest);
}

for (const text of texts) {
  Deno.test(`splitStatements() agrees with PostgreSQL's parser on ${JSON.stringify(text)}`, async () => {
    const ranges = splitStatements(text);
    const expected = text === "" ? [] : await parsedStatements(text);
    deepStrictEqual(
      ranges.map(({ start, end }) => withoutComments(text.slice(start, end))),
      expected,
    );
    for (const { start, end } of ranges) {
      strictEqual(text.slice(start, start + 2) === "--", false);
      strictEqual(end === text.length || text[end] === ";", true);
    }
  });
}

Deno.test("splitStatements() agrees with PostgreSQL's parser on the examples", async () => {
  for (const file of ["todos/todos.sql", "shop/shop.sql"]) {
    const path = new URL(`../../../../examples/${file}`, import.meta.url);
    const text = await Deno.readTextFile(path);
    const expected = (await parsedStatements(text)).length;
    strictEqual(splitStatements(text).length, expected, file);
  }
});

Deno.test("placeOfCharacter() counts characters, and lines by line feeds", () => {
  const text = "a\n😀b\r\nü";
  deepStrictEqual(placeOfCharacter(text, 1), { line: 1, column: 1 });
  deepStrictEqual(placeOfCharacter(text, 4), { line: 2, column: 2 });
  deepStrictEqual(placeOfCharacter(text, 7), { line: 3, column: 1 });
  deepStrictEqual(placeOfCharacter(text, 100), { line: 3, column: 2 });
  deepStrictEqual(placeAt(text, 4), { line: 2, column: 2 });
});

const lineRows: readonly (readonly [text: string, lines: readonly number[]])[] = [
  ["", []],
  ["-- only; a comment\n", []],
  ["select 1", [1]],
  ["-- first;\nselect 1;\n\n-- second\nselect\n 2;", [2, 5]],
  ["select ';\n';\nselect 2", [1, 3]],
  ["select e'\\';\n';\nselect 2", [1, 3]],
  ['select 1 as "a;\n""";\nselect 2', [1, 3]],
  ["do $svc$ begin\n null; end $svc$;\nselect 2;", [1, 3]],
  ["do $a$ $b$ ; $b$ $$ ; $a$; select 2", [1, 1]],
  ["/* a;\n b */ select 1;\nselect 2", [2, 3]],
];

for (const [text, lines] of lineRows) {
  Deno.test(`splitStatements() finds statements on the lines ${JSON.stringify(lines)} of ${JSON.stringify(text)}`, () => {
    deepStrictEqual(splitStatements(text).map(({ start }) => placeAt(text, start).line), lines);
  });
}

const characterRows:
  readonly (readonly [text: string, position: number, place: readonly number[]])[] = [
    ["select", 1, [1, 1]],
    ["a\nbc", 4, [2, 2]],
    // PostgreSQL counts characters, JavaScript UTF-16 units.
    ["😀\n x", 4, [2, 2]],
  ];

for (const [text, position, place] of characterRows) {
  Deno.test(`placeOfCharacter() returns ${place} for ${position} of ${JSON.stringify(text)}`, () => {
    const { line, column } = placeOfCharacter(text, position);
    deepStrictEqual([line, column], place);
  });
}

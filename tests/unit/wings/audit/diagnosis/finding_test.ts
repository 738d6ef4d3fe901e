import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { printableJson } from "../../../../../src/base/lib/printable.ts";
import {
  countText,
  type Finding,
  findingsSql,
  findingsText,
} from "../../../../../src/wings/audit/diagnosis/finding.ts";

const missing: Finding = {
  name: "role-missing",
  level: "error",
  subject: "web_anon",
  message: "role web_anon does not exist",
  sql: "create role web_anon nologin;\ngrant web_anon to authenticator;",
};

const superuser: Finding = {
  name: "login-superuser",
  level: "warn",
  subject: "postgres",
  message: "postgres is a superuser",
  sql: null,
};

/** A name that tries to end a comment and to move the cursor of a terminal. */
const hostile: Finding = {
  name: "rls-without-policy",
  level: "info",
  subject: 'api."a\ndrop table b; --\u001b[2J"',
  message: 'api."a\ndrop table b; --\u001b[2J" has no policy',
  sql: 'create policy p on api."a\rb\u001b[2J" for select using (true);',
};

const call = { program: "npx svc-api", source: "svc.conf" };

Deno.test("findingsText() prints one line per finding and its SQL below it", () => {
  strictEqual(
    findingsText([missing, superuser], call),
    "error role-missing: role web_anon does not exist\n" +
      "    create role web_anon nologin;\n" +
      "    grant web_anon to authenticator;\n" +
      "warn login-superuser: postgres is a superuser\n",
  );
});

Deno.test("findingsText() counts the lines of long SQL", () => {
  const sql = (lines: number) => Array.from({ length: lines }, () => "a;").join("\n");
  strictEqual(
    findingsText([{ ...missing, sql: sql(21) }, { ...superuser, sql: sql(20) }], call),
    "error role-missing: role web_anon does not exist\n" +
      "    21 lines of SQL: npx svc-api check --fix-sql svc.conf\n" +
      "warn login-superuser: postgres is a superuser\n" + "    a;\n".repeat(20),
  );
});

/** Numbers of findings of one name, and what the text shows of those behind the first five. */
const repeated: readonly (readonly [count: number, rest: string])[] = [
  [2, ""],
  [5, ""],
  [6, "    and 1 more: npx svc-api check --json svc.conf\n"],
  [3090, "    and 3085 more: npx svc-api check --json svc.conf\n"],
];

for (const [count, rest] of repeated) {
  Deno.test(`findingsText() has one finding for ${count} of a name, and the first five`, () => {
    const all = Array.from({ length: count }, (_, at) => ({
      ...superuser,
      name: "foreign-key-index",
      message: `no index of ${at}`,
      sql: `create index ${at};`,
    }));
    const shown = all.slice(0, 5).map(({ message, sql }) =>
      `    ${message}\n        -- caution: writes take longer with each index\n        ${sql}\n`
    );
    const others = [{ ...superuser, name: "foreign-key-index", level: "info" } as const, missing];
    strictEqual(
      findingsText([...all, ...others, { ...superuser, sql: null }], call),
      `warn foreign-key-index: ${count} times\n${shown.join("")}${rest}` +
        "info foreign-key-index: postgres is a superuser\n" +
        "error role-missing: role web_anon does not exist\n" +
        "    create role web_anon nologin;\n" +
        "    grant web_anon to authenticator;\n" +
        "warn login-superuser: postgres is a superuser\n",
    );
    deepStrictEqual(JSON.parse(printableJson(all)), all);
  });
}

Deno.test("findingsText() sends no control character to the terminal", () => {
  strictEqual(
    findingsText([hostile], call),
    'info rls-without-policy: api."a drop table b; -- [2J" has no policy\n' +
      "    -- caution: it may grant more than is wanted\n" +
      '    create policy p on api."a\\rb\\x1b[2J" for select using (true);\n',
  );
});

Deno.test("findingsSql() prints SQL once, that of notes in comments that no name can leave", () => {
  strictEqual(
    findingsSql([missing, superuser, hostile, missing]),
    "-- error role-missing: role web_anon does not exist\n" +
      "create role web_anon nologin;\ngrant web_anon to authenticator;\n" +
      '-- info rls-without-policy: api."a drop table b; -- [2J" has no policy\n' +
      "-- caution: it may grant more than is wanted\n" +
      '-- create policy p on api."a\n-- b\u001b[2J" for select using (true);\n',
  );
});

Deno.test("findingsText() prints the caution before SQL that may break a working API", () => {
  const sql = "alter table api.note enable row level security;";
  strictEqual(
    findingsText([{ ...missing, name: "write-without-rls", sql }], call),
    "error write-without-rls: role web_anon does not exist\n" +
      "    -- caution: writes of requests fail afterwards until a policy allows them\n" +
      `    ${sql}\n`,
  );
});

/** SQL that may break a working API. */
const risky: readonly (readonly [name: string, message: string, caution: string | null])[] = [
  ["write-without-rls", "x", "writes of requests fail afterwards until a policy allows them"],
  ["policy-without-rls", "x", "rows that no policy allows are hidden from requests afterwards"],
  ["copy-exposed", "x", "requests cannot read it afterwards"],
  ["policy-per-row", "x", null],
  ["foreign-key-index", "x", "writes take longer with each index"],
  ["view-owner-rights", "x", "callers need privileges on the tables afterwards"],
  ["definer-search-path", "x", "a function that uses objects of other schemas fails afterwards"],
  [
    "schema-missing",
    "schema ap does not exist; did you mean api?",
    "the configuration may have the wrong name",
  ],
  ["schema-missing", "schema ap does not exist", null],
];

for (const [name, message, caution] of risky) {
  Deno.test(`findingsSql() prints the SQL of ${name} ${message} with caution ${caution}`, () => {
    const found = findingsSql([{ ...missing, name, message, sql: "a;\nb;" }]);
    const lines = caution === null ? "a;\nb;\n" : `-- caution: ${caution}\n-- a;\n-- b;\n`;
    strictEqual(found, `-- error ${name}: ${message}\n${lines}`);
  });
}

Deno.test("printableJson() prints the five members of each finding", () => {
  deepStrictEqual(JSON.parse(printableJson([missing, superuser])), [missing, superuser]);
  strictEqual(printableJson([]), "[]\n");
  const subject = "a\u001b\u009b\u2028b";
  const text = printableJson([{ ...missing, subject }]);
  strictEqual(/[^\n\P{Cc}]|\u2028/u.test(text), false);
  deepStrictEqual(JSON.parse(text), [{ ...missing, subject }]);
});

const counts: readonly (readonly [text: string, findings: readonly Finding[]])[] = [
  ["nothing found", []],
  ["1 error", [missing]],
  ["2 errors, 1 warning, 1 note", [missing, superuser, hostile, missing]],
];

for (const [text, findings] of counts) {
  Deno.test(`countText() returns ${text}`, () => strictEqual(countText(findings), text));
}

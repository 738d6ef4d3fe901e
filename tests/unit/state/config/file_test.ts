import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { parseFile } from "../../../../src/state/config/file.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const environment = { HOME: "/home/me", EMPTY: "" };

function parse(text: string) {
  return Array.from(
    parseFile({ path: "a.conf", text }, environment).values(),
    ({ key, value, origin }) => [origin.line, key, value],
  );
}

const parsed: readonly (readonly [title: string, text: string, entries: readonly unknown[]])[] = [
  ["nothing", "", []],
  ["comments and empty lines", "# a\n\n  \t\n#b", []],
  ["lines and trailing comments", '\na = "x" # y\nb=1\n', [[2, "a", "x"], [3, "b", 1]]],
  ["a byte order mark and CRLF", '\uFEFFa = "x"\r\n\r\nb = true\r\n', [[1, "a", "x"], [
    3,
    "b",
    true,
  ]]],
  ["a comment sign in a text", 'a = "x # y"', [[1, "a", "x # y"]]],
  ["literal texts", "a = '\\n'", [[1, "a", "\\n"]]],
  [
    "values on several lines",
    'a = """x\nb = 1\n"""\nc = [\n 1,\n 2]\nd = 3',
    [[1, "a", "x\nb = 1\n"], [4, "c", { unusable: "a list" }], [7, "d", 3]],
  ],
  [
    "texts whose lines look like keys and tables",
    'a = "x" # """\nb = """\nc = 1\n"""\nd = \'\'\'\n[e]\n\'\'\'\nf = "$(a)"\nc = 2',
    [[1, "a", "x"], [2, "b", "c = 1\n"], [5, "d", "[e]\n"], [8, "f", "x"], [9, "c", 2]],
  ],
  ["spaces around dots", 'a = "x"\nb . c = "$(a)"', [[1, "a", "x"], [2, "b.c", "x"]]],
  ["tables", 'a.b = 1\n[app.settings]\nx = "1"\n[other]\nz = 1\n[none]\n[c]\nd = { e = 2 }', [
    [1, "a.b", 1],
    [3, "app.settings.x", "1"],
    [5, "other.z", 1],
    [6, "none", { unusable: "a table" }],
    [8, "c.d.e", 2],
  ]],
  ["empty tables of application settings", "[app]\n[app.settings]", []],
  ["keys in quotes", '"a" = 1\n"app.settings.b" = "x"', [[1, "a", 1], [2, "app.settings.b", "x"]]],
  ["dates", "a = 2026-01-01", [[1, "a", { unusable: "a date or time" }]]],
  ["names of Object.prototype", "__proto__ = 1\na.__proto__.b = 2", [
    [1, "__proto__", 1],
    [2, "a.__proto__.b", 2],
  ]],
  ["doubled dollar signs", 'a = "$$.role"\nb = "$$$$x"', [[1, "a", "$.role"], [2, "b", "$$x"]]],
  ["lone dollar signs", 'a = "$.role $ $(x"', [[1, "a", "$.role $ $(x"]]],
  [
    "references to keys above and to variables",
    'a = "x"\nb = 5\nc = "$(a)-$(b)-$(HOME)-$(EMPTY)-$$(a)"',
    [[1, "a", "x"], [2, "b", 5], [3, "c", "x-5-/home/me--$(a)"]],
  ],
  [
    "references once, not again in what they gave",
    'a = "$$(HOME)"\nb = "$(a)"',
    [[1, "a", "$(HOME)"], [2, "b", "$(HOME)"]],
  ],
];

for (const [title, text, entries] of parsed) {
  Deno.test(`parseFile reads ${title}`, () => {
    deepStrictEqual(parse(text), entries);
  });
}

const hint = " (expected key = value, with texts in double quotes)";

const refused: readonly (readonly [title: string, text: string, message: string])[] = [
  [
    "unquoted text",
    "a = 1\nlog-level = info",
    `a.conf:2: log-level: each key-value declaration must be followed by an end-of-line${hint}`,
  ],
  ["no value", "\n\na =", `a.conf:3: a: invalid value${hint}`],
  ["no key", "\nx y", `a.conf:2: illegal character in key${hint}`],
  [
    "a text that does not end, without showing it",
    'a = 1\nb = "secret',
    `a.conf:2: b: unfinished string${hint}`,
  ],
  [
    "a text of several lines that does not end",
    'a = 1\nb = """secret\nc\n',
    `a.conf:2: b: unfinished string${hint}`,
  ],
  [
    "an escape in a text of several lines, without showing it",
    'a = """\nsecret = \\x\n"""',
    `a.conf:2: invalid non-hex character in unicode escape${hint}`,
  ],
  [
    "a list that does not end",
    "a = [1,\n2\n",
    `a.conf:3: expected comma or end of structure${hint}`,
  ],
  [
    "a key that is given twice",
    "a = 1\n\na = 2",
    `a.conf:3: a: trying to redefine an already defined table or value${hint}`,
  ],
  [
    "a key that is given twice in two ways",
    "app.settings.a = '1'\n[app.settings]\na = '2'",
    `a.conf:2: trying to redefine an already defined table or value${hint}`,
  ],
  ["a reference to nothing", 'a = "$(NOPE)"', "a.conf:1: a: no such variable: 'NOPE'"],
  [
    "a reference to a key below a text that has a line like it",
    'a = """\nb = 1\n"""\nc = "$(b)"\nb = "x"',
    "a.conf:4: c: no such variable: 'b'",
  ],
  ["a reference to a key below", 'a = "$(b)"\nb = "x"', "a.conf:1: a: no such variable: 'b'"],
  ["a reference to a boolean", 'a = true\nb = "$(a)"', "a.conf:2: b: no such variable: 'a'"],
  [
    "a reference to a name of Object.prototype",
    'a = "$(toString)"',
    "a.conf:1: a: no such variable: 'toString'",
  ],
];

for (const [title, text, message] of refused) {
  Deno.test(`parseFile rejects ${title}`, () => {
    throws(() => parse(text), { name: "ConfigError", message });
  });
}

Deno.test("parseFile() reads a long file, and finds what is wrong in it, in linear time", () => {
  const make = (count: number) => ({
    count,
    text: Array.from({ length: count }, (_, n) => `k${n} = "${"$".repeat(20)}"`).join("\n"),
  });
  const refuses = (text: string) => throws(() => parse(text), { name: "ConfigError" });
  const works: readonly ((file: ReturnType<typeof make>) => void)[] = [
    ({ count, text }) => strictEqual(parse(text).length, count),
    ...["a = info", "a = $[x", "a = [1,", 'a = """'].map(
      (line) => ({ text }: ReturnType<typeof make>) => refuses(`${line}\n${text}`),
    ),
    ({ text }) => refuses(`${text}\na = {`),
  ];
  for (const run of works) assertLinearTime("parseFile", { size: 10_000, make, run });
});

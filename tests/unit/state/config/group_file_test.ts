import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { parseGroups } from "../../../../src/state/config/group_file.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";

const environment = { HOME: "/home/me", EMPTY: "" };

const imports: Readonly<Record<string, string>> = {
  "other.conf": 'x = "from $(a)"\n',
  "circle.conf": 'import "circle.conf"\n',
  "broken.conf": "\nx =\n",
};

function parse(text: string) {
  const readText = (path: string) => {
    if (!Object.hasOwn(imports, path)) throw new Error("No such file");
    return imports[path]!;
  };
  return Array.from(
    parseGroups({ path: "a.conf", text }, environment, readText).values(),
    ({ key, value, origin }) => [origin.line, key, value],
  );
}

const parsed: readonly (readonly [title: string, text: string, entries: readonly unknown[]])[] = [
  ["nothing", "", []],
  ["comments", "# a\n  #b\n\n", []],
  ["values", 'a = "x" # y\nb=1\nc = 1e3\nd=1.5\n', [[1, "a", "x"], [2, "b", 1], [3, "c", 1000], [
    4,
    "d",
    1.5,
  ]]],
  ["words", "a = true\nb = on\nc = false\nd = off", [[1, "a", true], [2, "b", true], [
    3,
    "c",
    false,
  ], [4, "d", false]]],
  ["a value on the next line", 'a =\n  "x"', [[1, "a", "x"]]],
  ["two on a line", "a = 1 b = 2", [[1, "a", 1], [1, "b", 2]]],
  ["a line break in a text", 'a = "x\ny"\nb = 1', [[1, "a", "x\ny"], [3, "b", 1]]],
  ["escapes", String.raw`a = "\n\t\r\"\\\u00e9\ud83d\ude00"`, [[1, "a", '\n\t\r"\\é😀']]],
  ["dollar signs", 'a = "$$.role"', [[1, "a", "$.role"]]],
  ["references", 'a = 1\nb = "$(a) $(HOME) $(EMPTY)"', [[1, "a", 1], [2, "b", "1 /home/me "]]],
  ["references of a group before those around", 'x = "1"\ng { x = "2" y = "$(x)" }', [
    [1, "x", "1"],
    [2, "g.x", "2"],
    [2, "g.y", "2"],
  ]],
  ["groups", 'app {\n settings { r = "eu" }\n}\napp.settings.t = "1"', [
    [2, "app.settings.r", "eu"],
    [4, "app.settings.t", "1"],
  ]],
  ["the last of several", "a = 1\na = 2", [[2, "a", 2]]],
  ["disabled directives", '#; a = 1\nb = 2\n#; g { c = 3 }\n#;import "nothing"\nd = 4', [[
    2,
    "b",
    2,
  ], [5, "d", 4]]],
  ["lists", 'a = [1, "x", [true],]', [[1, "a", { unusable: "a list" }]]],
  ["imports", 'a = "y"\nimport "other.conf"', [[1, "a", "y"], [1, "x", "from y"]]],
  ["imports in groups", 'a = "y"\ng { import "other.conf" }', [[1, "a", "y"], [
    1,
    "g.x",
    "from y",
  ]]],
  ["a key like import", "import.x = 1", [[1, "import.x", 1]]],
];

for (const [title, text, entries] of parsed) {
  Deno.test(`parseGroups reads ${title}`, () => deepStrictEqual(parse(text), entries));
}

const literal = "expected a text in double quotes, a number, true or false";
const text = "the text has no closing quote, or an invalid escape";

const refused: readonly (readonly [text: string, message: string])[] = [
  ["a", "a.conf:1: a: expected = after the key"],
  ["log-level = info", `a.conf:1: log-level: ${literal}`],
  ["\na = -1", `a.conf:2: a: ${literal}`],
  ["a = True", `a.conf:1: a: ${literal}`],
  ["a = 1x", `a.conf:1: a: ${literal}`],
  ["a = 'x'", `a.conf:1: a: ${literal}`],
  ['a = "x', `a.conf:1: a: ${text}`],
  ['a = "\\q"', `a.conf:1: a: ${text}`],
  ['a = "\\u12"', `a.conf:1: a: ${text}`],
  ['a = "$x"', "a.conf:1: a: a dollar sign is written $$"],
  ['a = "$(nothing)"', "a.conf:1: a: no such variable: 'nothing'"],
  ['a = true\nb = "$(a)"', "a.conf:2: b: variable 'a' is not a string or number"],
  ["a {", "a.conf:1: a: expected a key or }"],
  ["a = 1 }", "a.conf:1: a: expected a key"],
  ["1 = a", "a.conf:1: expected a key"],
  ["#;", "a.conf:1: expected a key to leave out after #;"],
  ["a = [1 2]", "a.conf:1: a: expected , or ]"],
  ["a { ".repeat(40), `a.conf:1: ${"a.".repeat(16)}a: groups are nested too deep`],
  ['import "nothing"', 'a.conf:1: cannot import "nothing": No such file'],
  ['import "circle.conf"', 'circle.conf:1: imports "circle.conf" again'],
  ['import "broken.conf"', `broken.conf:3: x: ${literal}`],
];

for (const [source, message] of refused) {
  Deno.test(`parseGroups rejects ${JSON.stringify(source.slice(0, 40))}`, () => {
    throws(() => parse(source), { name: "ConfigError", message });
  });
}

Deno.test("parseGroups() takes time linear in a text's length", () => {
  const make = (pieces: number) => 'a = "' + "x\\n".repeat(pieces) + '"';
  const run = (text: string) => strictEqual(parse(text).length, 1);
  assertLinearTime("parseGroups", { size: 100_000, make, run });
});

/** Random conditions of shapes select the rows that PostgreSQL selects, or are refused. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type LiveApi, openLiveApi } from "../support/handler/live_api.ts";
import { type Random, seededRandom } from "../support/timing/random.ts";

const texts = [
  ...["", "a", "A", "ab", "a%", "a_", "a\\b", "\\%", "%", "it's", '"q"', "(x,y)", "{x}", "null"],
  ...["true", "eq.a", "é", "😀", "a\u00a0b", " a ", "a\nb", "$1", "--", "a&b=c", "1", "x;y", "-1"],
];
const numbers = [
  "1",
  "-1",
  "- 2",
  "0",
  "1.5",
  "1.1",
  ".5",
  "2.",
  "1e0",
  "'1'",
  "'1.5'",
  "16777217",
];
const dates = ["'2020-01-01'", "'2021-05-05 10:00'", "'infinity'"];

/** Columns as SQL names them, with their type and values. */
const columns: Readonly<Record<string, readonly [type: string, values: readonly string[]]>> = {
  t: ["text", []],
  '"A""b.c"': ["text", []],
  '"user"': ["varchar(9)", []],
  größe: ["char(4)", []],
  '"x y"': ["text", []],
  '"limit"': ["int", numbers],
  n: ["numeric", numbers],
  r: ["real", numbers],
  d: ["double precision", numbers],
  b: ["boolean", ["true", "FALSE", "'t'", "'off'"]],
  at: ["timestamp", dates],
};
const names = Object.keys(columns);

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Makes conditions. Some of their values are parameters. */
class Conditions {
  params: string[] = [];

  constructor(readonly random: Random) {}

  any(depth: number): string {
    const { random } = this;
    const form = depth === 0 ? 0 : random.below(6);
    const one = () => this.any(depth - 1);
    if (form < 2) return this.#one(random.pick([...names, "user", "T"]));
    if (form === 2) return `NOT ${one()}`;
    if (form === 3) return `(${one()})`;
    return `${one()} ${random.pick(["AND", "or"])}\n${one()}`;
  }

  #one(column: string): string {
    const { random } = this;
    const not = random.pick(["", "NOT "]);
    const value = () => this.#value(columns[column]?.[1] ?? []);
    const list = () => Array.from({ length: 1 + random.below(3) }, value).join(", ");
    switch (random.below(7)) {
      case 0:
        return `${column} IS ${not}${column === "b" ? random.pick(["NULL", "true"]) : "null"}`;
      case 1:
        return `${column} ${not}IN (${list()})`;
      case 2:
        return `${column} ${not}between ${value()} AND ${value()}`;
      case 3:
        return `${column} ${not}${random.pick(["LIKE", "ILIKE"])} ${this.#value([])}`;
      default:
        return `${column}${random.pick(["=", " <> ", "!= ", " <", "<=", ">", " >= "])}${value()}`;
    }
  }

  #value(values: readonly string[]): string {
    const { random, params } = this;
    const others = [...numbers, "true", "null", "lower('a')", "E'a'", "'a'::text", "t"];
    const made = random.below(12) === 0
      ? random.pick(others)
      : values.length === 0
      ? literal(random.pick(texts))
      : random.pick(values);
    if (random.below(6) > 0 || !made.startsWith("'") || made.length < 2) return made;
    return `$${params.push(made.replace(/^'|'(?:::text)?$/g, "").replaceAll("''", "'"))}`;
  }
}

/** Fills a table of rows that have the values of their columns, or null. */
async function fill(api: LiveApi, random: Random): Promise<void> {
  const stored = ["-1", "0", "1", "2", "16777217"];
  const valueOf = (name: string) => {
    const [type, values] = columns[name]!;
    const known = /int|numeric|real|double/.test(type) ? stored : values;
    if (random.below(6) === 0) return "null";
    if (name === "r" && random.below(2) === 0) return "1.1";
    return known.length === 0 ? `${literal(random.pick(texts))}::${type}` : random.pick(known);
  };
  const rows = Array.from({ length: 60 }, (_, id) => `(${id}, ${names.map(valueOf).join()})`);
  const added = names.map((name) => `add ${name} ${columns[name]![0]}`);
  await api.sql(
    "alter table api.audited rename to w; alter table api.w disable row level security; " +
      `delete from api.w; alter table api.w drop column line cascade, ${added.join()}; ` +
      `insert into api.w values ${rows.join()}`,
  );
  await api.handler.reloadSchema();
}

Deno.test("shapes with random conditions have the rows that PostgreSQL selects", async () => {
  await using api = await openLiveApi();
  const random = seededRandom(54);
  await fill(api, random);
  await using client = await api.connect();
  let served = 0;
  for (let round = 0; round < 400; round++) {
    const conditions = new Conditions(random);
    const where = conditions.any(random.below(4));
    const { params } = conditions;
    const query = [["where", where], ...params.map((value, at) => [`params[${at + 1}]`, value])];
    const encoded = query.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join("&");
    const response = await api.send(`GET /live/v1/shape?table=w&columns=id&offset=-1&${encoded}`);
    const body = await response.json();
    // PostgreSQL has no LIKE for a timestamp, for example: 42883 is 404.
    if (response.status === 400 || body.code === "42883") continue;
    strictEqual(response.status, 200, where);
    served++;
    const written = where.replace(
      /'(?:[^']|'')*'|\$(\d+)/g,
      (found, number) => number === undefined ? found : literal(params[number - 1]!),
    );
    const { rows } = await client.query(
      `select id::text from api.w where ${written} order by w.id`,
    );
    const ids = (body as readonly { readonly value?: { readonly id: string } }[])
      .flatMap(({ value }) => value === undefined ? [] : [value.id]);
    deepStrictEqual(ids.toSorted((one, other) => +one - +other), rows.map(({ id }) => id), where);
  }
  ok(served > 150, `${served} of 400`);
});

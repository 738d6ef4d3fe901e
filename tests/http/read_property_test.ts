import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { serviceSuite } from "../support/handler/api.ts";
import { engines } from "../support/database/engines.ts";
import { PGlite } from "@electric-sql/pglite";

/** A condition as a member of `and=(…)` and as SQL. */
interface Condition {
  readonly url: string;
  readonly sql: string;
}

const operators = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const operator = fc.constantFrom(...Object.keys(operators) as (keyof typeof operators)[]);
const number = fc.integer({ min: -2, max: 102 });
const word = fc.stringMatching(/^[a-z"\\(),.*% ]{0,4}$/);

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function literal(text: string): string {
  return ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

const numeric = fc.record({ column: fc.constantFrom("id", "maker_id", "price"), operator, number })
  .map(({ column, operator, number }) => ({
    url: `${column}.${operator}.${number}`,
    sql: `${column} ${operators[operator]} ${number}`,
  }));
const textual = fc.record({ operator, word }).map(({ operator, word }) => ({
  url: `name.${operator}.${quoted(word)}`,
  sql: `name ${operators[operator]} ${literal(word)}`,
}));
const pattern = fc.record({ like: fc.constantFrom("like", "ilike"), word }).map((
  { like, word },
) => ({
  // A pattern must not end with its escape character.
  url: `name.${like}.${quoted(word.replaceAll("\\", ""))}`,
  sql: `name ${like} ${literal(word.replaceAll("\\", "").replaceAll("*", "%"))}`,
}));
const list = fc.array(number, { minLength: 1, maxLength: 5 }).map((numbers) => ({
  url: `maker_id.in.(${numbers.join(",")})`,
  sql: `maker_id in (${numbers.join(",")})`,
}));
const presence = fc.record({
  column: fc.constantFrom("maker_id", "price", "bought"),
  word: fc.constantFrom("null", "not_null"),
}).map(({ column, word }) => ({
  url: `${column}.is.${word}`,
  sql: `${column} is ${word === "null" ? "null" : "not null"}`,
}));
const leaf: fc.Arbitrary<Condition> = fc.oneof(numeric, textual, pattern, list, presence)
  .chain((condition) =>
    fc.boolean().map((negated) =>
      negated
        ? { url: condition.url.replace(".", ".not."), sql: `not (${condition.sql})` }
        : condition
    )
  );

const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.record({
      operator: fc.constantFrom("and", "or"),
      negated: fc.boolean(),
      children: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
    }).map(({ operator, negated, children }) => ({
      url: `${negated ? "not." : ""}${operator}(${children.map(({ url }) => url).join(",")})`,
      sql: `${negated ? "not " : ""}(${children.map(({ sql }) => sql).join(` ${operator} `)})`,
    })),
  ),
}));

const suite = serviceSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" }, {
  title: "random filters",
});

suite.test("a filter selects the rows that the same SQL selects", async (api) => {
  const database = await engines.pglite({ name: "tools", roles: ["anon", "writer"] });
  const plain = await PGlite.create(database.uri.slice("pglite://".length));
  try {
    await fc.assert(
      fc.asyncProperty(tree, async ({ url, sql }) => {
        const target = `/tools?select=id&order=id&and=${encodeURIComponent(`(${url})`)}`;
        const response = await api(`GET ${target}`);
        const expected = await plain.query(`select id from api.tools where ${sql} order by id`);
        deepStrictEqual([response.status, await response.json()], [200, expected.rows], url);
      }),
      { numRuns: 300 },
    );
  } finally {
    await plain.close();
    await database.remove();
  }
});

import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { PGlite } from "@electric-sql/pglite";
import { serviceSuite } from "../support/handler/api.ts";
import { engines } from "../support/database/engines.ts";

/** A piece of a request, and the same as SQL. */
interface Piece {
  readonly url: string;
  readonly sql: string;
}

function piece(url: string, sql: string): Piece {
  return { url, sql };
}

const operators = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const operator = fc.constantFrom(...Object.keys(operators) as (keyof typeof operators)[]);
const small = fc.integer({ min: -3, max: 9 });
const column = fc.constantFrom("id", "maker_id", "price");

/** Numeric values of a tool; `t` is the table. */
const { value } = fc.letrec<{ value: Piece }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    column.map((name) => piece(name, `t.${name}`)),
    fc.tuple(tie("value"), small).map(([of, n]) =>
      piece(`${of.url}.add(${n})`, `(${of.sql} + ${n})`)
    ),
    fc.tuple(tie("value"), column).map(([of, other]) =>
      piece(`${of.url}.sub(${other})`, `(${of.sql} - t.${other})`)
    ),
    fc.tuple(tie("value"), small).map(([of, n]) =>
      piece(`${of.url}.coalesce(${n})`, `coalesce(${of.sql}, ${n})`)
    ),
    fc.tuple(tie("value"), column).map(([of, other]) =>
      piece(`${of.url}.greatest(${other})`, `greatest(${of.sql}, t.${other})`)
    ),
    tie("value").map((of) => piece(`${of.url}.neg().abs()`, `abs(- ${of.sql})`)),
  ),
}));

const comparison = fc.tuple(value, operator, small, fc.boolean()).map(([of, word, n, negated]) =>
  piece(
    `${of.url}.${negated ? "not." : ""}${word}.${n}`,
    `${negated ? "not " : ""}(${of.sql} ${operators[word]} ${n})`,
  )
);
const ofColumns = fc.tuple(value, operator, value).map(([one, word, other]) =>
  piece(`${one.url}.${word}(col).${other.url}`, `(${one.sql} ${operators[word]} ${other.sql})`)
);
const condition = fc.oneof(comparison, ofColumns);
const { tree } = fc.letrec<{ tree: Piece }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    condition,
    fc.tuple(fc.constantFrom("and", "or"), fc.array(tie("tree"), { minLength: 1, maxLength: 3 }))
      .map(
        ([word, parts]) =>
          piece(
            `${word}(${parts.map(({ url }) => url).join()})`,
            `(${parts.map(({ sql }) => sql).join(` ${word} `)})`,
          ),
      ),
  ),
}));
const aggregate = fc.tuple(fc.constantFrom("sum", "max", "min", "count"), value).map(([name, of]) =>
  piece(`${of.url}.${name}()`, `${name}(${of.sql})`)
);
const ofGroup = fc.tuple(aggregate, operator, small).map(([of, word, n]) =>
  piece(`${of.url}.${word}.${n}`, `(${of.sql} ${operators[word]} ${n})`)
);

/** A request on tools or makers, and the SQL of its rows. */
const request: fc.Arbitrary<Piece> = fc.oneof(
  fc.tuple(value, tree).map(([of, { url, sql }]) =>
    piece(
      `/tools?select=v:${of.url}&order=id&and=(${url})`,
      `select ${of.sql} as v from api.tools t where ${sql} order by t.id`,
    )
  ),
  fc.tuple(value, tree).map(([of, { url, sql }]) =>
    piece(
      `/tools?select=id&order=${of.url}.desc.nullslast,id&and=(${url})`,
      `select t.id from api.tools t where ${sql} order by ${of.sql} desc nulls last, t.id`,
    )
  ),
  fc.tuple(aggregate, ofGroup, tree).map(([of, group, rows]) =>
    piece(
      `/tools?select=m:maker_id.coalesce(0),v:${of.url}&order=m&having=(${group.url})&and=(${rows.url})`,
      `select coalesce(t.maker_id, 0) as m, ${of.sql} as v from api.tools t where ${rows.sql} ` +
        `group by 1 having ${group.sql} order by 1`,
    )
  ),
  fc.tuple(aggregate, tree).map(([of, rows]) =>
    piece(
      `/tools?select=v:${of.url}&v.and=(${rows.url})`,
      `select ${of.sql} filter (where ${rows.sql}) as v from api.tools t`,
    )
  ),
  fc.tuple(value, tree).map(([of, { url, sql }]) =>
    piece(
      `/tools?select=v:${of.url}&distinct=*&order=v&and=(${url})`,
      `select distinct ${of.sql} as v from api.tools t where ${sql} order by 1`,
    )
  ),
  fc.tuple(value, value).map(([of, by]) =>
    piece(
      `/tools?select=id,v:${of.url}&distinct=v&order=${by.url}.nullsfirst,id`,
      `select id, v from (select distinct on (${of.sql}) t.id, ${of.sql} as v, ${by.sql} as o ` +
        `from api.tools t order by ${of.sql}, ${by.sql} nulls first, t.id) x ` +
        "order by o nulls first, id",
    )
  ),
  fc.tuple(fc.constantFrom("any", "all", "none"), fc.array(tree, { minLength: 1, maxLength: 2 }))
    .map(
      ([quantifier, parts]) => {
        const inside = `(${parts.map(({ sql }) => sql).join(" and ")})`;
        const rows = "select from api.tools t where t.maker_id = m.id and";
        const sql = {
          any: `exists (${rows} ${inside})`,
          none: `not exists (${rows} ${inside})`,
          all: `not exists (${rows} not coalesce(${inside}, false))`,
        }[quantifier]!;
        return piece(
          `/makers?select=id,tools()&order=id&tools.${quantifier}=(${
            parts.map(({ url }) => url).join()
          })`,
          `select m.id from api.makers m where ${sql} order by m.id`,
        );
      },
    ),
  fc.tuple(aggregate, operator, small).map(([of, word, n]) =>
    piece(
      `/makers?select=id,tools()&and=(tools(${of.url}).${word}.${n})&order=tools(${of.url}).desc.nullslast,id`,
      `select m.id from api.makers m, lateral (select ${of.sql} as a from api.tools t ` +
        `where t.maker_id = m.id) x where a ${
          operators[word]
        } ${n} order by a desc nulls last, m.id`,
    )
  ),
);

const suite = serviceSuite("tools", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbAggregatesEnabled: true,
}, { title: "random clauses" });

suite.test("a request returns the rows of the same SQL", async (api) => {
  const database = await engines.pglite({ name: "tools", roles: ["anon", "writer"] });
  const plain = await PGlite.create(database.uri.slice("pglite://".length));
  try {
    await fc.assert(
      fc.asyncProperty(request, async ({ url, sql }) => {
        const response = await api(`GET ${url}`);
        const { rows: [row] } = await plain.query<{ rows: unknown }>(
          `select coalesce(json_agg(x), '[]') as rows from (${sql}) x`,
        );
        deepStrictEqual([response.status, await response.json()], [200, row!.rows], url);
      }),
      { numRuns: 300 },
    );
  } finally {
    await plain.close();
    await database.remove();
  }
});

import { deepStrictEqual, doesNotThrow, throws } from "node:assert/strict";
import { pgrstDialect } from "../../../src/dialect.ts";
import type { DatabaseError, ServiceError } from "../../../src/errors/service_error.ts";
import type { QueryParams, SelectField } from "../../../src/request/query_types.ts";
import {
  all,
  at,
  by,
  column,
  count,
  embed,
  filter,
  group,
  isNotNull,
  isNull,
  place,
  planOf,
  spread,
} from "../../support/reading.ts";

const makers = embed("makers", [column("name")]);
const tools = embed("tools", [column("name")]);
const equals = ["eq", "1"] as const;

const refusals: readonly [
  name: string,
  relation: string,
  parts: Partial<QueryParams>,
  error: string,
][] = [
  [
    "a related order of what is not embedded",
    "tools",
    { order: [at("", [by("name", { relation: "makers" })])] },
    "108 'makers' is not an embedded resource in this request",
  ],
  [
    "a related order by the target of an aliased embed",
    "tools",
    {
      select: [embed("makers", [], { alias: "m" })],
      order: [at("", [by("name", { relation: "makers" })])],
    },
    "108 'makers' is not an embedded resource in this request",
  ],
  [
    "a related order on many rows",
    "makers",
    { select: [tools], order: [at("", [by("name", { relation: "tools" })])] },
    "118 A related order on 'tools' is not possible: 'makers' and 'tools' do not form a " +
    "many-to-one or one-to-one relationship",
  ],
  [
    "a related order on many rows of a nested embed",
    "manuals",
    {
      select: [embed("tools", [embed("sheds", [], { alias: "s" })])],
      order: [at("tools", [by("title", { relation: "s" })])],
    },
    "118 A related order on 's' is not possible: 'tools' and 's' do not form a " +
    "many-to-one or one-to-one relationship",
  ],
  [
    "a spread of many rows",
    "makers",
    { select: [spread("tools", [column("name")])] },
    "119 A spread operation on 'tools' is not possible: 'makers' and 'tools' do not form a " +
    "many-to-one or one-to-one relationship",
  ],
  [
    "a comparison with an embed",
    "makers",
    { select: [tools], filters: [at("", filter("tools", equals))] },
    "120 Bad operator on the 'tools' embedded resource: Only is null or not is null filters are " +
    "allowed on embedded resources",
  ],
  [
    "is.not_null of an embed",
    "makers",
    { select: [tools], filters: [at("", filter("tools", { kind: "is", word: "not_null" }))] },
    "120 Bad operator on the 'tools' embedded resource: Only is null or not is null filters are " +
    "allowed on embedded resources",
  ],
  [
    "a comparison with an aliased embed deep in a group of an embed",
    "manuals",
    {
      select: [embed("tools", [embed("sheds", [], { alias: "s" })])],
      logic: [at("tools", group("or", [isNull("id"), group("and", [filter("s", equals)])]))],
    },
    "120 Bad operator on the 'sheds' embedded resource: Only is null or not is null filters are " +
    "allowed on embedded resources",
  ],
  [
    "a wrong related order before a wrong spread",
    "makers",
    {
      select: [spread("tools"), embed("paints")],
      order: [at("", [by("id", { relation: "paints" })])],
    },
    "118 A related order on 'paints' is not possible: 'makers' and 'paints' do not form a " +
    "many-to-one or one-to-one relationship",
  ],
  [
    "a wrong spread before a wrong filter",
    "makers",
    { select: [spread("tools"), embed("paints")], filters: [at("", filter("paints", equals))] },
    "119 A spread operation on 'tools' is not possible: 'makers' and 'tools' do not form a " +
    "many-to-one or one-to-one relationship",
  ],
];

for (const [name, relation, parts, expected] of refusals) {
  Deno.test(`planRead() rejects ${name}`, () => {
    throws(() => planOf(relation, parts), (error: ServiceError) => {
      const { code, message, details } = error.fields;
      deepStrictEqual(`${code} ${message}${details ? `: ${details}` : ""}`, expected);
      return true;
    });
  });
}

const accepted: readonly [name: string, relation: string, parts: Partial<QueryParams>][] = [
  ["null tests of embeds", "makers", {
    select: [tools],
    filters: [at("", isNull("tools")), at("", isNotNull("tools"))],
  }],
  ["a comparison with a column of an embed's name", "shop", {
    select: [embed("makers", [], { alias: "manuals" })],
    filters: [at("", filter("manuals", equals))],
  }],
  ["a comparison inside a column of any name", "makers", {
    select: [tools],
    filters: [at("", filter(place("tools", "->", "a"), equals))],
  }],
  ["related orders of one row", "tools", {
    select: [makers],
    order: [at("", [by("name", { relation: "makers" })])],
  }],
];

for (const [name, relation, parts] of accepted) {
  Deno.test(`planRead() accepts ${name}`, () => {
    doesNotThrow(() => planOf(relation, parts));
  });
}

const aggregates: readonly [name: string, select: QueryParams["select"]][] = [
  ["an aggregate", [column("price", { aggregate: "sum" })]],
  ["count()", [count]],
  ["an aggregate in an embed", [embed("makers", [count])]],
  ["an aggregate in a spread", [column("name"), spread("makers", [count])]],
];

for (const [name, select] of aggregates) {
  Deno.test(`planRead() rejects ${name} unless aggregates are enabled`, () => {
    doesNotThrow(() => planOf("tools", { select }));
    throws(
      () => planOf("tools", { select }, {}, { dbAggregatesEnabled: false }),
      (error: ServiceError) => error.fields.code === "123" && error.fields.status === 400,
    );
  });
}

/** Aggregates that belong to a to-many spread. */
const gathered: readonly [name: string, relation: string, select: QueryParams["select"]][] = [
  ["an aggregate", "makers", [spread("tools", [column("price", { aggregate: "sum" })])]],
  ["count()", "makers", [spread("tools", [count])]],
  ["an aggregate of a to-one spread in it", "makers", [
    spread("tools", [spread("manuals", [column("pages", { aggregate: "max" })])]),
  ]],
  ["one in an embed", "makers", [embed("tools", [spread("tool_sheds", [count])])]],
  ["one in a to-one spread", "tools", [spread("makers", [spread("tools", [count])])]],
];

for (const [name, relation, select] of gathered) {
  Deno.test(`planRead() rejects ${name} in a to-many spread`, () => {
    const refusal = (code: string) => (error: ServiceError) => error.fields.code === code;
    const arrays = { dialect: pgrstDialect };
    throws(() => planOf(relation, { select }, {}, arrays), refusal("127"));
    throws(
      () => planOf(relation, { select }, {}, { ...arrays, dbAggregatesEnabled: false }),
      refusal("123"),
    );
    throws(() => planOf(relation, { select }), refusal("119"));
  });
}

Deno.test("planRead() allows aggregates in embeds in a to-many spread", () => {
  const select = [spread("tools", [embed("manuals", [count])])];
  doesNotThrow(() => planOf("makers", { select }, {}, { dialect: pgrstDialect }));
});

Deno.test("planRead() allows count without parentheses when aggregates are disabled", () => {
  const select = [column("count")];
  doesNotThrow(() => planOf("tools", { select }, {}, { dbAggregatesEnabled: false }));
});

/** Nodes with the maximum number of columns, and the item that exceeds it. */
const widths:
  readonly (readonly [name: string, select: (columns: number) => QueryParams["select"]])[] = [
    ["the root", (columns) => Array<SelectField>(columns).fill(column("id"))],
    ["an embed", (columns) => [embed("makers", Array<SelectField>(columns).fill(column("id")))]],
    [
      "a node with spreads",
      (columns) => [
        column("id"),
        spread("makers", [all, ...Array<SelectField>(columns - 5).fill(column("id"))]),
        spread("manuals", [column("pages")]),
      ],
    ],
    [
      "a nested embed",
      (columns) => [
        embed("makers", [spread("tools", Array<SelectField>(columns).fill(column("id")))]),
      ],
    ],
  ];

for (const [name, select] of widths) {
  Deno.test(`planRead() rejects more columns of ${name} than PostgreSQL accepts`, () => {
    const plan = (columns: number) =>
      planOf("tools", { select: select(columns) }, {}, { dialect: pgrstDialect });
    doesNotThrow(() => plan(1664));
    throws(() => plan(1665), (error: DatabaseError) => {
      deepStrictEqual(error.failure, {
        sqlstate: "54011",
        message: "target lists can have at most 1664 entries",
        detail: null,
        hint: null,
      });
      return true;
    });
  });
}

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { atOnce } from "../../../support/timing/at_once.ts";
import {
  deriveRelationships,
  type ForeignKey,
  type RelationshipEnd,
} from "../../../../src/state/schema_cache/relationships.ts";
import type {
  ComputedRelationship,
  Relationship,
} from "../../../../src/state/schema_cache/schema_cache.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { relationshipLine } from "../../../support/database/relationship_line.ts";
import type { ViewColumns } from "../../../../src/state/schema_cache/view_columns.ts";

/** Columns of a table are numbered from 1; the key is what stands in `primaryKey`. */
interface Made {
  readonly oid: number;
  readonly name: string;
  readonly schema?: string;
  readonly columns: readonly string[];
  readonly primaryKey?: readonly string[];
  /** Table, its column, the view's column. */
  readonly shows?: readonly (readonly [number, number, string])[];
}

interface Case {
  readonly relations: readonly Made[];
  /** `name: table(columns) -> table(columns)`, with `=>` for a unique one. */
  readonly keys: readonly string[];
  readonly computed?: readonly ComputedRelationship[];
}

function derive({ relations, keys, computed = [] }: Case): readonly Relationship[] {
  return atOnce(deriveRelationships({
    ends: relations.map(madeEnd),
    foreignKeys: keys.map(parseKey),
    viewColumns: new Map(relations.map(({ oid, shows = [] }) => [oid, shownBy(shows)])),
    computed,
  }));
}

function madeEnd({ oid, name, schema = "api", columns, primaryKey, shows }: Made): RelationshipEnd {
  return {
    oid,
    name: { schema, name },
    isView: shows !== undefined,
    columnNames: [undefined, ...columns],
    primaryKey: primaryKey ?? [],
  };
}

function shownBy(shows: readonly (readonly [number, number, string])[]): ViewColumns {
  const shown = new Map<number, Map<number, string[]>>();
  for (const [table, column, name] of shows) {
    const columns = shown.get(table) ?? new Map<number, string[]>();
    columns.set(column, [...columns.get(column) ?? [], name]);
    shown.set(table, columns);
  }
  return shown;
}

function parseKey(text: string): ForeignKey {
  const [, constraint, table, columns, arrow, foreignTable, foreignColumns] = text.match(
    /^(\w+): (\d+)\(([\d,]+)\) ([-=]>) (\d+)\(([\d,]+)\)$/,
  )!;
  const numbers = (list: string) => list.split(",").map(Number);
  return {
    constraint: constraint!,
    table: Number(table),
    columns: numbers(columns!),
    foreignTable: Number(foreignTable),
    foreignColumns: numbers(foreignColumns!),
    unique: arrow === "=>",
  };
}

const a: Made = { oid: 1, name: "a", columns: ["id"], primaryKey: ["id"] };
const b: Made = { oid: 2, name: "b", columns: ["id", "a_id"], primaryKey: ["id"] };

const rows: readonly (Case & { readonly name: string; readonly gives: readonly string[] })[] = [
  { name: "nothing without keys", relations: [a, b], keys: [], gives: [] },
  {
    name: "many-to-one and its inverse",
    relations: [a, b],
    keys: ["b_a: 2(2) -> 1(1)"],
    gives: ["a one-to-many b by b_a id=a_id", "b many-to-one a by b_a a_id=id"],
  },
  {
    name: "one-to-one both ways",
    relations: [a, b],
    keys: ["b_a: 2(2) => 1(1)"],
    gives: ["a one-to-one b by b_a id=a_id parent", "b one-to-one a by b_a a_id=id"],
  },
  {
    name: "composite keys in key order",
    relations: [
      { oid: 1, name: "p", columns: ["x", "y"] },
      { oid: 2, name: "c", columns: ["y", "x"] },
    ],
    keys: ["k: 2(2,1) -> 1(1,2)"],
    gives: ["c many-to-one p by k x=x,y=y", "p one-to-many c by k x=x,y=y"],
  },
  {
    name: "self relationships",
    relations: [{ oid: 1, name: "t", columns: ["id", "up"] }],
    keys: ["k: 1(2) -> 1(1)"],
    gives: ["t one-to-many t by k id=up self", "t many-to-one t by k up=id self"],
  },
  {
    name: "nothing to relations that are not exposed",
    relations: [b],
    keys: ["b_a: 2(2) -> 1(1)", "x: 9(1) -> 2(1)"],
    gives: [],
  },
  {
    name: "view variants on both sides, also of private tables",
    relations: [
      { oid: 11, name: "va", columns: ["i"], shows: [[1, 1, "i"]] },
      b,
      { oid: 12, name: "vb", columns: ["f"], shows: [[2, 2, "f"]] },
    ],
    keys: ["b_a: 2(2) -> 1(1)"],
    gives: [
      "b many-to-one [va] by b_a a_id=i",
      "[va] one-to-many b by b_a i=a_id",
      "[va] one-to-many [vb] by b_a i=f",
      "[vb] many-to-one [va] by b_a f=i",
    ],
  },
  {
    name: "all four variants where the tables are exposed as well",
    relations: [
      a,
      b,
      { oid: 11, name: "va", columns: ["i"], shows: [[1, 1, "i"]] },
      { oid: 12, name: "vb", columns: ["f"], shows: [[2, 2, "f"]] },
    ],
    keys: ["b_a: 2(2) => 1(1)"],
    gives: [
      "a one-to-one b by b_a id=a_id parent",
      "a one-to-one [vb] by b_a id=f parent",
      "b one-to-one a by b_a a_id=id",
      "b one-to-one [va] by b_a a_id=i",
      "[va] one-to-one b by b_a i=a_id parent",
      "[va] one-to-one [vb] by b_a i=f parent",
      "[vb] one-to-one a by b_a f=id",
      "[vb] one-to-one [va] by b_a f=i",
    ],
  },
  {
    name: "nothing for views that show a part of the key",
    relations: [
      { oid: 1, name: "p", columns: ["x", "y"] },
      { oid: 12, name: "v", columns: ["x"], shows: [[2, 1, "x"]] },
    ],
    keys: ["k: 2(1,2) -> 1(1,2)"],
    gives: [],
  },
  {
    name: "one variant per combination of repeated columns",
    relations: [
      a,
      { oid: 12, name: "v", columns: ["f1", "f2"], shows: [[2, 2, "f1"], [2, 2, "f2"]] },
    ],
    keys: ["k: 2(2) -> 1(1)"],
    gives: [
      "a one-to-many [v] by k id=f1",
      "a one-to-many [v] by k id=f2",
      "[v] many-to-one a by k f1=id",
      "[v] many-to-one a by k f2=id",
    ],
  },
  {
    name: "a self key through a view",
    relations: [{ oid: 12, name: "v", columns: ["i", "u"], shows: [[1, 1, "i"], [1, 2, "u"]] }],
    keys: ["k: 1(2) -> 1(1)"],
    gives: ["[v] one-to-many [v] by k i=u self", "[v] many-to-one [v] by k u=i self"],
  },
  {
    name: "many-to-many through a junction whose key holds both",
    relations: [
      a,
      { oid: 2, name: "b", columns: ["id"] },
      { oid: 3, name: "ab", columns: ["a_id", "b_id", "n"], primaryKey: ["a_id", "b_id", "n"] },
    ],
    keys: ["ab_a: 3(1) -> 1(1)", "ab_b: 3(2) -> 2(1)"],
    gives: [
      "a one-to-many ab by ab_a id=a_id",
      "a many-to-many b by ab(ab_a id=a_id; ab_b b_id=id)",
      "ab many-to-one a by ab_a a_id=id",
      "ab many-to-one b by ab_b b_id=id",
      "b many-to-many a by ab(ab_b id=b_id; ab_a a_id=id)",
      "b one-to-many ab by ab_b id=b_id",
    ],
  },
  {
    name: "no many-to-many where a key is outside the primary key",
    relations: [
      a,
      { oid: 2, name: "b", columns: ["id"] },
      { oid: 3, name: "ab", columns: ["a_id", "b_id"], primaryKey: ["a_id"] },
    ],
    keys: ["ab_a: 3(1) -> 1(1)", "ab_b: 3(2) -> 2(1)"],
    gives: [
      "a one-to-many ab by ab_a id=a_id",
      "ab many-to-one a by ab_a a_id=id",
      "ab many-to-one b by ab_b b_id=id",
      "b one-to-many ab by ab_b id=b_id",
    ],
  },
  {
    name: "no many-to-many through a one-to-one key",
    relations: [
      a,
      { oid: 2, name: "b", columns: ["id"] },
      { oid: 3, name: "ab", columns: ["a_id", "b_id"], primaryKey: ["a_id", "b_id"] },
    ],
    keys: ["ab_a: 3(1) => 1(1)", "ab_b: 3(2) -> 2(1)"],
    gives: [
      "a one-to-one ab by ab_a id=a_id parent",
      "ab one-to-one a by ab_a a_id=id",
      "ab many-to-one b by ab_b b_id=id",
      "b one-to-many ab by ab_b id=b_id",
    ],
  },
  {
    name: "self many-to-many for both orders of the keys",
    relations: [a, { oid: 3, name: "j", columns: ["x", "y"], primaryKey: ["x", "y"] }],
    keys: ["kx: 3(1) -> 1(1)", "ky: 3(2) -> 1(1)"],
    gives: [
      "a many-to-many a by j(kx id=x; ky y=id) self",
      "a many-to-many a by j(ky id=y; kx x=id) self",
      "a one-to-many j by kx id=x",
      "a one-to-many j by ky id=y",
      "j many-to-one a by kx x=id",
      "j many-to-one a by ky y=id",
    ],
  },
  {
    name: "a view of a private junction as junction",
    relations: [a, { oid: 2, name: "b", columns: ["id"] }, {
      oid: 13,
      name: "v",
      columns: ["x", "y"],
      primaryKey: ["x", "y"],
      shows: [[3, 1, "x"], [3, 2, "y"]],
    }],
    keys: ["ab_a: 3(1) -> 1(1)", "ab_b: 3(2) -> 2(1)"],
    gives: [
      "a many-to-many b by v(ab_a id=x; ab_b y=id)",
      "a one-to-many [v] by ab_a id=x",
      "b many-to-many a by v(ab_b id=y; ab_a x=id)",
      "b one-to-many [v] by ab_b id=y",
      "[v] many-to-one a by ab_a x=id",
      "[v] many-to-one b by ab_b y=id",
    ],
  },
  {
    name: "computed relationships in place of detected ones to the function's name",
    relations: [a, b],
    keys: ["b_a: 2(2) -> 1(1)"],
    computed: [{
      kind: "computed",
      origin: { schema: "api", name: "a" },
      foreign: { schema: "api", name: "b" },
      function: { schema: "api", name: "b" },
      self: false,
      toOne: true,
    }],
    gives: ["a to-one b by b()", "b many-to-one a by b_a a_id=id"],
  },
  {
    name: "computed relationships beside detected ones of other names and schemas",
    relations: [a, b],
    keys: ["b_a: 2(2) -> 1(1)"],
    computed: [
      {
        kind: "computed",
        origin: { schema: "api", name: "a" },
        foreign: { schema: "api", name: "b" },
        function: { schema: "other", name: "b" },
        self: false,
        toOne: false,
      },
      {
        kind: "computed",
        origin: { schema: "api", name: "a" },
        foreign: { schema: "api", name: "a" },
        function: { schema: "api", name: "same" },
        self: true,
        toOne: false,
      },
    ],
    gives: [
      "a to-many a by same()",
      "a one-to-many b by b_a id=a_id",
      "a to-many b by b()",
      "b many-to-one a by b_a a_id=id",
    ],
  },
  {
    name: "the order: schema, relation, self, kind, constraint, columns",
    relations: [
      { oid: 1, name: "t", columns: ["id", "up"] },
      { oid: 2, name: "z", schema: "aaa", columns: ["id"] },
      { oid: 3, name: "b", columns: ["id", "x"] },
    ],
    keys: [
      "z: 1(1) -> 2(1)",
      "k2: 3(2) -> 1(1)",
      "k1: 3(2) -> 1(1)",
      "k0: 1(1) => 3(1)",
      "k3: 1(1) -> 3(1)",
      "s: 1(2) -> 1(1)",
    ],
    gives: [
      "z one-to-many t by z id=id",
      "b one-to-many t by k3 id=id",
      "b many-to-one t by k1 x=id",
      "b many-to-one t by k2 x=id",
      "b one-to-one t by k0 id=id parent",
      "t many-to-one z by z id=id",
      "t one-to-many b by k1 id=x",
      "t one-to-many b by k2 id=x",
      "t many-to-one b by k3 id=id",
      "t one-to-one b by k0 id=id",
      "t one-to-many t by s id=up self",
      "t many-to-one t by s up=id self",
    ],
  },
];

for (const { name, gives, ...made } of rows) {
  Deno.test(`deriveRelationships() returns ${name}`, () => {
    deepStrictEqual(derive(made).map(relationshipLine), gives);
  });
}

Deno.test("deriveRelationships() returns the same list for any order of its input", () => {
  for (const made of rows) {
    const turned = {
      ...made,
      relations: made.relations.toReversed(),
      keys: made.keys.toReversed(),
    };
    deepStrictEqual(derive(turned).map(relationshipLine), derive(made).map(relationshipLine));
  }
});

Deno.test("deriveRelationships() takes time in proportion to its result", () => {
  const make = (count: number) => {
    const relations = Array.from({ length: count }, (_, index) => ({
      oid: index + 1,
      name: `t${index}`,
      columns: ["id", "fk"],
      primaryKey: ["id"],
    }));
    return { relations, keys: relations.map(({ oid }) => `k${oid}: ${oid}(2) -> 1(1)`) };
  };
  const run = (made: ReturnType<typeof make>) =>
    strictEqual(derive(made).length, 2 * made.keys.length);
  assertLinearTime("deriveRelationships", { size: 4000, make, run });
});

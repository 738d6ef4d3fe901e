/** Random trees of rows: a read of what a nested insert wrote is what its body said. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { type Random, seededRandom } from "../support/timing/random.ts";

const suite = serviceSuite(
  "nested",
  { dbSchemas: ["api"], dbAnonRole: "anon", dbTxEnd: "commit" },
  {
    title: "nested inserts of random trees",
  },
);

/** A relation that may stand inside of another one. */
interface Related {
  readonly relation: Relation;
  readonly isOne: boolean;
  /** The junction that links the rows. */
  readonly junction?: Relation;
}

type Relation = keyof typeof relations;

/** A column of text that is unique, and the relations that may stand inside. */
const relations = {
  customers: { column: "name", others: ["country"], inside: [many("orders")] },
  orders: {
    column: "status",
    others: ["extra"],
    inside: [many("lines"), one("invoices"), linked("labels", "order_labels"), many("notes")],
  },
  lines: { column: "sku", others: ["qty"], inside: [many("comments"), one("products")] },
  invoices: { column: "total", others: [], inside: [] },
  labels: { column: "name", others: [], inside: [] },
  comments: { column: "text", others: [], inside: [] },
  notes: { column: "text", others: [], inside: [] },
  products: { column: "name", others: [], inside: [] },
  parts: { column: "name", others: [], inside: [many("parts")] },
  order_labels: { column: "note", others: [], inside: [] },
} as const;

function one(relation: string): Related {
  return { relation: relation as Relation, isOne: true };
}

function many(relation: string): Related {
  return { relation: relation as Relation, isOne: false };
}

function linked(relation: string, junction: string): Related {
  return { ...many(relation), junction: junction as Relation };
}

/** The items that a request names at one level. */
interface Level {
  readonly relation: Relation;
  readonly alias: string;
  readonly isOne: boolean;
  readonly junction: Relation | null;
  readonly takesKeys: boolean;
  readonly others: readonly string[];
  readonly inside: readonly Level[];
}

type Row = Record<string, unknown>;

/** The choices of one case. */
class Tree {
  readonly #random: Random;
  readonly #prefix: string;
  readonly counts = new Map<Relation, number>();
  #rows = 0;
  #items = 0;

  constructor(random: Random, prefix: string) {
    this.#random = random;
    this.#prefix = prefix;
  }

  level({ relation, isOne, junction }: Related, depth = 0): Level {
    const { others, inside } = relations[relation];
    const chosen = inside.filter(() => depth < 6 && this.#items < 15 && this.#random.below(3) > 0);
    const alias = this.#random.below(4) === 0 ? `a ${this.#items}` : relation;
    this.#items++;
    return {
      ...{ relation, alias, isOne, junction: junction ?? null },
      takesKeys: this.#random.below(4) === 0,
      others: others.filter(() => this.#random.below(2) === 0),
      inside: chosen.map((each) => this.level(each, depth + 1)),
    };
  }

  /** Returns a row as it is sent, and as it is read again. */
  row(level: Level): { readonly sent: Row; readonly read: Row } {
    const { relation, others, inside, takesKeys } = level;
    this.#count(relation);
    const number = ++this.#rows;
    const isNumber = relation === "invoices";
    const value = isNumber ? number : `${this.#prefix}${String(number).padStart(5, "0")}`;
    const sent: Row = { [relations[relation].column]: value };
    for (const name of others) {
      const given = name === "qty" ? 1 + this.#random.below(9) : `"'\\ \u00e9${number}`;
      sent[name] = takesKeys || this.#random.below(3) > 0 ? given : null;
    }
    const read: Row = { ...sent };
    if (!takesKeys) { for (const name of others) if (sent[name] === null) delete sent[name]; }
    for (const child of inside) {
      const rows = this.#inside(child);
      const isEmpty = rows === null || rows.length === 0;
      const none = child.isOne ? null : this.#random.pick([null, []]);
      if (!isEmpty) sent[child.alias] = child.isOne ? rows[0]!.sent : rows.map((row) => row.sent);
      else if (this.#random.below(2) === 0) sent[child.alias] = none;
      read[child.alias] = child.isOne
        ? (isEmpty ? null : rows[0]!.read)
        : (rows ?? []).map((row) => row.read);
    }
    return { sent, read };
  }

  #inside(child: Level) {
    const count = child.isOne ? this.#random.below(2) : this.#random.below(4);
    return Array.from({ length: count }, () => {
      if (child.junction !== null) this.#count(child.junction);
      return this.row(child);
    });
  }

  #count(relation: Relation): void {
    this.counts.set(relation, (this.counts.get(relation) ?? 0) + 1);
  }
}

const quoted = (name: string) => `"${name}"`;

function columnsOf({ relation, others, inside, takesKeys }: Level): string {
  const own = takesKeys ? ["*"] : [relations[relation].column, ...others];
  return [...own, ...inside.map((child) => `${itemOf(child)}(${columnsOf(child)})`)].join(",");
}

function selectOf({ relation, others, inside }: Level): string {
  const own = [relations[relation].column, ...others];
  return [...own, ...inside.map((child) => `${itemOf(child)}(${selectOf(child)})`)].join(",");
}

function itemOf({ relation, alias }: Level): string {
  return alias === relation ? relation : `${quoted(alias)}:${relation}`;
}

/** Returns the parameters that order each array as the body does. */
function ordersOf({ inside }: Level, path: string): string {
  return inside.map((child) => {
    const inner = `${path}${quoted(child.alias)}.`;
    const order = `&${encodeURIComponent(inner)}order=${relations[child.relation].column}`;
    return (child.isOne ? "" : order) + ordersOf(child, inner);
  }).join("");
}

async function countRows(api: Api): Promise<Map<Relation, number>> {
  const counts = new Map<Relation, number>();
  for (const relation of Object.keys(relations) as Relation[]) {
    const response = await api(`HEAD /${relation}?limit=0`, { headers: { Prefer: "count=exact" } });
    counts.set(relation, Number(response.headers.get("Content-Range")!.split("/")[1]));
  }
  return counts;
}

suite.test("a read returns the rows of the body, and there are no others", async (api) => {
  const expected = await countRows(api);
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = seededRandom(seed);
      const tree = new Tree(random, `t${++number}_`);
      const root = tree.level(many(random.pick(["orders", "customers", "parts"])));
      const level = { ...root, alias: root.relation };
      const rows = Array.from({ length: 1 + random.below(3) }, () => tree.row(level));
      const isOne = rows.length === 1 && random.below(2) === 0;
      const line = `POST /${level.relation}?columns=${encodeURIComponent(columnsOf(level))}` +
        `&select=${encodeURIComponent(selectOf(level))}${ordersOf(level, "")}`;
      const response = await api(line, {
        body: isOne ? rows[0]!.sent : rows.map(({ sent }) => sent),
        headers: { Prefer: "return=representation" },
      });
      const answer = await response.json();
      strictEqual(response.status, 201, JSON.stringify(answer));
      deepStrictEqual(answer, rows.map(({ read }) => read));
      for (const [relation, count] of tree.counts) {
        expected.set(relation, expected.get(relation)! + count);
      }
    }),
    { numRuns: 40 },
  );
  deepStrictEqual(await countRows(api), expected);
});

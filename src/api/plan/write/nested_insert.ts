/** Plans a nested insert. Each level of the body is one insert. Rows to which a level refers are
 * written before it, and rows that refer to it are written after it. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { ColumnItem, NestedItem } from "../../request/url/query_types.ts";
import type {
  ColumnPair,
  JunctionRelationship,
  QualifiedName,
  Relation,
  Relationship,
  SchemaCache,
} from "../../../state/schema_cache/schema_cache.ts";
import { takesKeys } from "../../request/url/columns_param.ts";
import {
  columnNames,
  type FilledColumn,
  type InsertLevel,
  type InsertStep,
  type KeyColumn,
  maxBodyLength,
  type NestedInsert,
  valuesOfBody,
  valuesUnder,
} from "./insert_level.ts";
import { type Conflict, planLevelConflict } from "./conflict.ts";
import { findRelationship } from "../find_relationship.ts";
import { writtenColumn } from "./written_column.ts";

interface NestedRoot {
  readonly relation: Relation;
  readonly shape: "object" | "array";
  readonly items: readonly ColumnItem[];
  readonly conflict: (written: readonly string[]) => Conflict | null;
  /** Columns that identify the root's rows, and columns to return in the result. */
  readonly key: readonly string[];
  readonly keys: readonly string[];
}

/** Maximum number of nested items in a request. */
const maxItems = 16;

/** Plans a nested insert. Throws `200` and `201` for relationships, `204` for columns, `108`,
 * `147`, `157`, and `102` if objects of `*` have different keys. */
export function planNestedInsert(
  request: ApiRequest,
  root: NestedRoot,
  cache: SchemaCache,
): NestedInsert {
  return new LevelPlanner(request, cache).plan(root);
}

interface ItemsPlace extends Pick<InsertLevel, "path" | "key" | "around" | "shape" | "relation"> {
  readonly items: readonly ColumnItem[];
  readonly filled: readonly ColumnPair[];
  /** Values of the level in the body; null if neither the level nor a level below it has `*`. */
  readonly values: readonly unknown[] | null;
  readonly conflict: (written: readonly string[]) => Conflict | null;
}

/** A level that is not complete: further keys may be added. */
interface LevelDraft extends Omit<InsertLevel, "keys" | "isReferred"> {
  readonly keys: Set<string>;
  isReferred: boolean;
}

/** A nested item, and the relationship of its rows to the parent rows. */
interface NestedRows {
  readonly key: string;
  readonly item: NestedItem;
  readonly relationship: Exclude<Relationship, { kind: "computed" }>;
}

class LevelPlanner {
  readonly #request: ApiRequest;
  readonly #cache: SchemaCache;
  readonly #levels: (LevelDraft | null)[] = [];
  readonly #steps: InsertStep[] = [];
  #itemCount = 0;

  constructor(request: ApiRequest, cache: SchemaCache) {
    this.#request = request;
    this.#cache = cache;
  }

  plan({ relation, shape, items, conflict, key: rootKey, keys }: NestedRoot): NestedInsert {
    const { payload, preferences } = this.#request;
    const path = [relation.name];
    const hasItems = items.some(({ kind }) => kind === "nested");
    if (hasItems && payload?.kind === "json" && payload.source !== "json") {
      throw errors.notNestable(path, "The body is not JSON");
    }
    const values = takesKeys(items) ? this.#bodyValues(path) : null;
    const place = { path, key: null, around: null, shape, relation, items, filled: [], values };
    this.#planLevel({ ...place, conflict });
    const drafts = this.#levels as LevelDraft[];
    keys.forEach((key) => drafts[0]!.keys.add(key));
    this.#checkConflictPaths();
    drafts.forEach(checkLookup);
    this.#checkWorkers();
    return {
      levels: drafts.map((draft) => ({ ...draft, keys: this.#keyColumns(draft) })),
      steps: this.#steps,
      key: rootKey,
      defaults: preferences.missing === "default",
    };
  }

  #bodyValues(path: readonly string[]): readonly unknown[] {
    const { payload } = this.#request;
    if (payload?.kind === "json" && payload.text.length > maxBodyLength) {
      throw errors.notNestable(path, `'*' takes bodies of at most ${maxBodyLength} bytes`);
    }
    return valuesOfBody(payload);
  }

  #planLevel(place: ItemsPlace): number {
    const { items, path, relation, key, around, shape } = place;
    const level = this.#levels.push(null) - 1;
    const nested = this.#resolve(place);
    const filled = this.#planBefore(place, level, nested);
    const keys = new Set(nested.map((each) => each.key));
    const names = columnNames(items, place.values, keys);
    const refused = names.find((name) => filled.has(name) || keys.has(name));
    if (refused !== undefined) {
      const reason = filled.has(refused) ? "gets its value from a related row" : "is a nested item";
      throw errors.notNestable(path, `Column '${refused}' ${reason}`);
    }
    this.#levels[level] = {
      ...{ path, key, around, shape, relation },
      columns: names.map((name) => writtenColumn(name, relation, this.#cache)),
      filled: Array.from(filled, ([name, sources]) => ({ name, sources })),
      keys: new Set(),
      conflict: place.conflict([...names, ...filled.keys()]),
      isReferred: false,
    };
    this.#steps.push({ kind: "level", level });
    this.#planBehind(place, level, nested);
    return level;
  }

  /** Plans the items to which rows of a level refer. Returns the sources of the columns that they fill. */
  #planBefore(
    place: ItemsPlace,
    level: number,
    nested: readonly NestedRows[],
  ): ReadonlyMap<string, FilledColumn["sources"]> {
    const filled = new Map<string, FilledColumn["sources"]>();
    const fill = (column: string, source: FilledColumn["sources"][number]) => {
      filled.set(column, [...filled.get(column) ?? [], source]);
    };
    for (const [source, foreign] of place.filled) {
      fill(foreign, { level: place.around!, name: source, row: "around" });
    }
    for (const each of nested) {
      const { relationship } = each;
      if (relationship.kind === "many-to-many" || !isReferredTo(relationship)) continue;
      const [first] = relationship.pairs.map(([column]) => column);
      if (relationship.pairs.every(([column]) => filled.has(column))) {
        const reason = `Column '${first}' gets its value from another row`;
        throw errors.notNestable(pathInside(place, each.key), reason);
      }
      const inside = this.#planInside(place, level, each, []);
      for (const [own, foreign] of relationship.pairs) {
        fill(own, { level: inside, name: foreign, row: "inside" });
        this.#refer(inside, foreign);
      }
    }
    return filled;
  }

  /**
   * Plans the items whose rows refer to rows of a level, then the items that junctions link to it.
   */
  #planBehind(place: ItemsPlace, level: number, nested: readonly NestedRows[]): void {
    for (const each of nested) {
      const { relationship } = each;
      if (relationship.kind === "many-to-many" || isReferredTo(relationship)) continue;
      for (const [column] of relationship.pairs) this.#refer(level, column);
      this.#planInside(place, level, each, relationship.pairs);
    }
    for (const each of nested) {
      if (each.relationship.kind !== "many-to-many") continue;
      this.#link(each.relationship, level, this.#planInside(place, level, each, []));
    }
  }

  #planInside(
    place: ItemsPlace,
    level: number,
    { key, item, relationship }: NestedRows,
    filled: readonly ColumnPair[],
  ): number {
    const inside = pathInside(place, key);
    const isOne = relationship.kind === "many-to-one" || relationship.kind === "one-to-one";
    const relation = this.#cache.relation(relationship.foreign)!;
    return this.#planLevel({
      path: inside,
      key,
      around: level,
      shape: isOne ? "object" : "array",
      relation,
      items: item.items,
      filled,
      values: place.values === null ? null : valuesUnder(key, place.values),
      conflict: (written) => this.#levelConflict(inside, relation, written),
    });
  }

  #link(
    { junction, originPairs, foreignPairs }: JunctionRelationship,
    around: number,
    target: number,
  ): void {
    const columnsOf = (level: number, pairs: readonly (readonly [string, string])[]) =>
      pairs.map(([name, column]) => {
        this.#refer(level, name);
        return { level, name, column };
      });
    const ofTarget = foreignPairs.map(([column, name]) => [name, column] as const);
    const mayExist = this.#levels[around]!.conflict !== null &&
      this.#levels[target]!.conflict !== null;
    const columns = [...columnsOf(around, originPairs), ...columnsOf(target, ofTarget)];
    this.#steps.push({ kind: "links", junction, around, target, columns, mayExist });
  }

  #refer(level: number, column: string): void {
    const draft = this.#levels[level]!;
    draft.keys.add(column);
    draft.isReferred = true;
  }

  #resolve(place: ItemsPlace): readonly NestedRows[] {
    const { items, relation } = place;
    const keys = new Set<string>();
    return items.filter((item) => item.kind === "nested").map((item) => {
      const key = item.alias ?? item.target;
      const inside = pathInside(place, key);
      if (++this.#itemCount > maxItems) {
        throw errors.notNestable(inside, `A request has at most ${maxItems} nested items`);
      }
      if (keys.has(key)) throw errors.notNestable(inside, "Two items have this name");
      keys.add(key);
      const { target, hint } = item;
      const { schema } = this.#request;
      const relationship = findRelationship(
        { origin: relation, originIsRelation: true, target, hint, schema },
        this.#cache,
      );
      if (relationship.kind === "computed" || !this.#cache.relation(relationship.foreign)) {
        throw errors.notNestable(inside, "A function computes its rows");
      }
      return { key, item, relationship };
    });
  }

  #levelConflict(
    path: readonly string[],
    relation: Relation,
    written: readonly string[],
  ): Conflict | null {
    const conflict = this.#request.query.levelConflicts.find((each) => isSame(each.path, path));
    if (conflict === undefined) return null;
    if (conflict.value.resolution === null) {
      const name = path.join(".");
      throw errors.invalidConflict(`'${name}.on_conflict' needs '${name}.resolution'`);
    }
    return planLevelConflict(conflict.value, relation, written);
  }

  #checkConflictPaths(): void {
    const paths = this.#levels.slice(1).map((draft) => draft!.path);
    const unknown = this.#request.query.levelConflicts.find(({ path }) =>
      !paths.some((each) => isSame(each, path))
    );
    if (unknown !== undefined) throw errors.notInColumns(unknown.path);
  }

  /** Checks that no worker of Citus runs a level. Keys are passed by settings, which workers do not have. */
  #checkWorkers(): void {
    const written: readonly QualifiedName[] = [
      ...this.#levels.map((draft) => draft!.relation),
      ...this.#steps.flatMap((step) => step.kind === "links" ? [step.junction] : []),
    ];
    const table = written.find((name) => this.#cache.relation(name)?.isOnWorkers);
    if (table !== undefined) throw errors.notNestable([table.name], "Citus distributes its rows");
  }

  #keyColumns({ keys, relation }: LevelDraft): readonly KeyColumn[] {
    return [...keys].map((name) => {
      const { type } = writtenColumn(name, relation, this.#cache);
      return { name, type };
    });
  }
}

/** Returns the path of an item, without the root. */
function pathInside({ path, around }: ItemsPlace, key: string): readonly string[] {
  return around === null ? [key] : [...path, key];
}

/** Throws if the body lacks a column by which existing rows of the level must be looked up. */
function checkLookup({ conflict, columns, filled, relation, ...level }: LevelDraft): void {
  const isRoot = level.around === null && conflict?.resolution === "find";
  if (!level.isReferred && !isRoot || conflict === null || conflict.resolution === "merge") return;
  const names = conflict.target.columns;
  if (names === null) throw errors.invalidConflict("Rows that exist are found by columns only");
  const written = new Set([...columns, ...filled].map(({ name }) => name));
  const missing = names.find((name) => !written.has(name));
  if (missing === undefined) return;
  throw errors.invalidConflict(`The body does not write '${missing}' of '${relation.name}'`);
}

/** Returns whether the rows of a level refer to the rows of an item in it. */
function isReferredTo(relationship: NestedRows["relationship"]): boolean {
  return relationship.kind === "many-to-one" ||
    relationship.kind === "one-to-one" && !relationship.originIsParent;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, index) => name === other[index]);
}

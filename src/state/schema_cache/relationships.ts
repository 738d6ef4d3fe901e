/** Derives the relationships between exposed relations: from foreign keys, from the columns that
 * views show, and from functions. @module */
import { getOrMake, groupBy } from "../../base/lib/group_by.ts";
import type { SlicedWork } from "../../base/lib/slices.ts";
import type {
  ColumnPair,
  ComputedRelationship,
  JunctionRelationship,
  KeyRelationship,
  QualifiedName,
  Relationship,
} from "./schema_cache.ts";
import type { TrackedView, ViewColumns } from "./view_columns.ts";
import { sortRelationships } from "./relationship_order.ts";

/** The properties of an exposed relation that relationships depend on. */
export interface RelationshipEnd extends TrackedView {
  readonly name: QualifiedName;
  readonly isView: boolean;
  readonly primaryKey: readonly string[];
}

/** A foreign key of a table in any schema, or one that a comment declares, in oids and attribute numbers. */
export interface ForeignKey {
  readonly constraint: string;
  readonly table: number;
  readonly columns: readonly number[];
  readonly foreignTable: number;
  readonly foreignColumns: readonly number[];
  /** Whether the columns are exactly the columns of a primary or unique key of the table. */
  readonly unique: boolean;
}

export interface RelationshipInput {
  readonly ends: readonly RelationshipEnd[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Foreign keys that PostgreSQL does not know, of tables and views. Default: none. */
  readonly declaredKeys?: readonly ForeignKey[];
  /** The table columns that each exposed view shows, by the view's oid. */
  readonly viewColumns: ReadonlyMap<number, ViewColumns>;
  readonly computed: readonly ComputedRelationship[];
}

/**
 * Derives all relationships, sorted by origin and then in the order of ambiguity errors. The time
 * is linear in the number of relationships. Relations of other schemas only contribute their keys
 * to the views that show them.
 */
export function* deriveRelationships(
  input: RelationshipInput,
): SlicedWork<readonly Relationship[]> {
  const links = yield* foreignKeyLinks(input);
  const detected: Relationship[] = [];
  for (const link of links) {
    detected.push(toParent(link), toChild(link));
    yield;
  }
  for (const link of junctionRelationships(links)) detected.push(link);
  const overridden = new Set(input.computed.map((c) => overrideKey(c.origin, c.function)));
  const visible = overridden.size === 0
    ? detected
    : detected.filter((r) => !overridden.has(overrideKey(r.origin, r.foreign)));
  return yield* sortRelationships([...visible, ...input.computed]);
}

/** Returns the schemas to which junctions in unexposed schemas lead, by the oid of the origin. */
export function hiddenJunctions(
  input: RelationshipInput,
  primaryKeys: ReadonlyMap<number, readonly number[]>,
): ReadonlyMap<number, ReadonlySet<string>> {
  const exposed = new Set(input.ends.map(({ oid }) => oid));
  const candidates = input.foreignKeys.filter(({ table, columns, unique }) =>
    !exposed.has(table) && !unique &&
    columns.every((column) => primaryKeys.get(table)?.includes(column))
  );
  if (candidates.length === 0) return new Map();
  const exposures = exposuresByTable(input);
  const schemasByOid = new Map<number, Set<string>>();
  for (const keys of groupBy(candidates, ({ table }) => table).values()) {
    const parents = keys.map((key) =>
      keyExposures(exposures.get(key.foreignTable), key.foreignColumns)
    );
    parents.forEach((origins, from) =>
      parents.forEach((foreigns, to) => {
        if (from === to) return;
        for (const { end: { oid } } of origins) {
          const schemas = getOrMake(schemasByOid, oid, () => new Set());
          for (const { end } of foreigns) schemas.add(end.name.schema);
        }
      })
    );
  }
  return schemasByOid;
}

/** A foreign key between two exposed relations. Each relation is the key's table, or a view of it. */
interface Link {
  readonly child: RelationshipEnd;
  readonly parent: RelationshipEnd;
  readonly constraint: string;
  readonly unique: boolean;
  readonly upwards: readonly ColumnPair[];
  readonly downwards: readonly ColumnPair[];
  /** True if the child's primary key contains all columns of the foreign key. */
  readonly withinPrimaryKey: boolean;
}

/** Returns the links of all foreign keys. Omits a declared link if another link has its columns. */
function* foreignKeyLinks(input: RelationshipInput): SlicedWork<readonly Link[]> {
  const exposures = exposuresByTable(input);
  yield;
  const linksOf = (key: ForeignKey) => {
    const children = keyExposures(exposures.get(key.table), key.columns);
    if (children.length === 0) return [];
    const parents = keyExposures(exposures.get(key.foreignTable), key.foreignColumns);
    return children.flatMap((child) => parents.map((parent) => link(key, child, parent)));
  };
  const links: Link[] = [];
  for (const key of input.foreignKeys) {
    for (const link of linksOf(key)) links.push(link);
    yield;
  }
  const declared = (input.declaredKeys ?? []).flatMap(linksOf);
  if (declared.length === 0) return links;
  const linkKeys = new Set(links.map(linkKey));
  return [
    ...links,
    ...declared.filter((each) => linkKeys.size < linkKeys.add(linkKey(each)).size),
  ];
}

/** Returns a text that is the same for links of the same relations and columns. */
function linkKey({ child, parent, upwards }: Link): string {
  const pairs = upwards.map((pair) => JSON.stringify(pair)).sort();
  return `${child.oid} ${parent.oid} ${pairs}`;
}

/** A table or a view. `names` returns the columns of `end` that show a column of the table. */
interface TableExposure {
  readonly end: RelationshipEnd;
  readonly names: (column: number) => readonly string[];
}

/** Lists, for each table, the exposed relations that show some of its columns. */
function exposuresByTable(input: RelationshipInput): ReadonlyMap<number, readonly TableExposure[]> {
  const exposures = new Map<number, TableExposure[]>();
  const add = (table: number, exposure: TableExposure) => {
    getOrMake(exposures, table, () => []).push(exposure);
  };
  for (const end of input.ends) {
    add(end.oid, { end, names: (column) => [end.columnNames[column]!] });
    for (const [table, columnNames] of input.viewColumns.get(end.oid) ?? []) {
      add(table, { end, names: (column) => columnNames.get(column) ?? [] });
    }
  }
  return exposures;
}

/** A table or view that shows all columns of a key, under the names `columns`. */
interface KeyExposure {
  readonly end: RelationshipEnd;
  readonly columns: readonly string[];
}

/** Lists relations that show the whole key, once for each combination of its columns. */
function keyExposures(
  exposures: readonly TableExposure[] = [],
  key: readonly number[],
): readonly KeyExposure[] {
  return exposures.flatMap(({ end, names }) =>
    combinations(key.map(names)).map((columns) => ({ end, columns }))
  );
}

function combinations(choices: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return choices.reduce<readonly (readonly string[])[]>(
    (heads, choice) => heads.flatMap((head) => choice.map((column) => [...head, column])),
    [[]],
  );
}

function link(key: ForeignKey, child: KeyExposure, parent: KeyExposure): Link {
  const upwards = child.columns.map((column, index) => [column, parent.columns[index]!] as const);
  return {
    child: child.end,
    parent: parent.end,
    constraint: key.constraint,
    unique: key.unique,
    upwards,
    downwards: upwards.map(([column, foreign]) => [foreign, column] as const),
    withinPrimaryKey: child.columns.every((column) => child.end.primaryKey.includes(column)),
  };
}

function toParent(link: Link): KeyRelationship {
  return {
    kind: link.unique ? "one-to-one" : "many-to-one",
    ...ends(link.child, link.parent),
    originIsParent: false,
    constraint: link.constraint,
    pairs: link.upwards,
  };
}

function toChild(link: Link): KeyRelationship {
  return {
    kind: link.unique ? "one-to-one" : "one-to-many",
    ...ends(link.parent, link.child),
    originIsParent: true,
    constraint: link.constraint,
    pairs: link.downwards,
  };
}

/**
 * Returns a relationship for each ordered pair of many-to-one links of one relation. The two
 * constraints differ, and the primary key of the relation contains the columns of both. The function
 * does not compare other foreign keys, to save time for tables with many of them.
 */
function junctionRelationships(links: readonly Link[]): readonly JunctionRelationship[] {
  const candidates = links.filter((link) => !link.unique && link.withinPrimaryKey);
  return [...groupBy(candidates, (link) => link.child).values()].flatMap((ofJunction) =>
    ofJunction.flatMap((source) =>
      ofJunction
        .filter((target) => target.constraint !== source.constraint)
        .map((target) => throughJunction(source, target))
    )
  );
}

function throughJunction(source: Link, target: Link): JunctionRelationship {
  return {
    kind: "many-to-many",
    ...ends(source.parent, target.parent),
    junction: source.child.name,
    originConstraint: source.constraint,
    originPairs: source.downwards,
    foreignConstraint: target.constraint,
    foreignPairs: target.upwards,
  };
}

function ends(origin: RelationshipEnd, foreign: RelationshipEnd) {
  return {
    origin: origin.name,
    foreign: foreign.name,
    self: origin === foreign,
    originIsView: origin.isView,
    foreignIsView: foreign.isView,
  };
}

/** Returns a key of two relations. A function overrides relationships with an equal key. */
function overrideKey(origin: QualifiedName, foreign: QualifiedName): string {
  return JSON.stringify([origin.schema, origin.name, foreign.schema, foreign.name]);
}

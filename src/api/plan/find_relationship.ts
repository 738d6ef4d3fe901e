/** Finds the relationship of an embed. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { EmbeddingCandidate } from "../../base/errors/schema_cache_errors.ts";
import { quotable } from "../../base/errors/quoting.ts";
import type {
  ColumnPair,
  JunctionRelationship,
  KeyRelationship,
  QualifiedName,
  Relationship,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import { suggest } from "./suggest.ts";

interface EmbedTarget {
  readonly origin: QualifiedName;
  readonly originIsRelation: boolean;
  readonly target: string;
  readonly hint: string | null;
  readonly schema: string;
  /** Whether the request names the schema. Default: false. */
  readonly isQualified?: boolean;
}

/** Throws `200` when no relationship matches and `201` when several match. */
export function findRelationship(embed: EmbedTarget, cache: SchemaCache): Relationship {
  const relationships = matchingRelationships(embed, cache);
  const [first] = relationships;
  if (first === undefined) throw noRelationship(embed, cache);
  if (relationships.length === 1) return first;
  const prefix = embed.isQualified === true ? `${embed.schema}/` : "";
  throw errors.ambiguousRelationship({
    parent: embed.origin.name,
    child: prefix + embed.target,
    candidates: relationships.filter((relationship) => relationship.kind !== "computed")
      .map((relationship) => describe(relationship, prefix)),
  });
}

/** Lists the relationships that match. A function replaces foreign keys of the same name. */
export function matchingRelationships(
  embed: EmbedTarget,
  cache: SchemaCache,
): readonly Relationship[] {
  const candidates = candidatesOf(embed, cache).filter((each) => matches(each, embed));
  const computed = candidates.find(({ kind }) => kind === "computed");
  return computed === undefined ? candidates : [computed];
}

function candidatesOf(embed: EmbedTarget, cache: SchemaCache): readonly Relationship[] {
  return embed.originIsRelation ? cache.relationships(embed.origin, embed.schema) : [];
}

/** Returns true if each row of the origin has at most one related row. */
export function isToOne(relationship: Relationship): boolean {
  return relationship.kind === "computed"
    ? relationship.toOne
    : relationship.kind === "many-to-one" || relationship.kind === "one-to-one";
}

function matches(relationship: Relationship, { target, hint }: EmbedTarget): boolean {
  if (relationship.kind === "computed") return relationship.function.name === target;
  if (relationship.self) return matchesSelf(relationship, target, hint);
  if (hint !== null) {
    return relationship.foreign.name === target && matchesHint(relationship, hint);
  }
  return relationship.foreign.name === target || matchesKey(relationship, target);
}

/**
 * Returns whether a self-reference matches. The name of the table selects the children, the name of
 * the column the parent. For a unique reference, the table's name also needs the column as a hint.
 * PostgREST has no embed for this case.
 */
function matchesSelf(
  relationship: KeyRelationship | JunctionRelationship,
  target: string,
  hint: string | null,
): boolean {
  const { kind } = relationship;
  if (kind === "many-to-many") return false;
  if (kind === "many-to-one" || (kind === "one-to-one" && !relationship.originIsParent)) {
    return hint === null && singlePair(relationship)?.[0] === target;
  }
  if (relationship.foreign.name !== target) return false;
  return hint === null ? kind === "one-to-many" : singlePair(relationship)?.[1] === hint;
}

function matchesHint(relationship: KeyRelationship | JunctionRelationship, hint: string): boolean {
  if (relationship.kind === "many-to-many") return relationship.junction.name === hint;
  const pair = singlePair(relationship);
  return relationship.constraint === hint || pair?.[0] === hint || pair?.[1] === hint;
}

/** Returns whether a relationship matches. Names of constraints and columns select only
 * relationships to tables. */
function matchesKey(relationship: KeyRelationship | JunctionRelationship, target: string): boolean {
  if (relationship.kind === "many-to-many" || relationship.foreignIsView) return false;
  return relationship.constraint === target || singlePair(relationship)?.[0] === target;
}

function singlePair({ pairs }: KeyRelationship): ColumnPair | undefined {
  return pairs.length === 1 ? pairs[0] : undefined;
}

/** Describes a candidate. `prefix` is the schema before the candidate's name in `select`. */
function describe(
  relationship: KeyRelationship | JunctionRelationship,
  prefix: string,
): EmbeddingCandidate {
  const { kind, origin, foreign } = relationship;
  const through = kind === "many-to-many" ? relationship.junction.name : relationship.constraint;
  return {
    cardinality: kind,
    embedding: `${origin.name} with ${foreign.name}`,
    relationship: kind === "many-to-many" ? junctionText(relationship) : keyText(relationship),
    suggestion: `${prefix}${foreign.name}!${through}`,
  };
}

/** `orders_from_fkey using orders(from_id) and places(id)` */
function keyText({ constraint, origin, foreign, pairs }: KeyRelationship): string {
  const [originColumns, foreignColumns] = [columns(pairs, 0), columns(pairs, 1)];
  return `${constraint} using ${origin.name}(${originColumns}) and ${foreign.name}(${foreignColumns})`;
}

/** `tool_sheds using tool_sheds_tool_id_fkey(tool_id) and tool_sheds_shed_id_fkey(shed_id)` */
function junctionText(relationship: JunctionRelationship): string {
  const { junction, originConstraint, originPairs, foreignConstraint, foreignPairs } = relationship;
  return `${junction.name} using ${originConstraint}(${columns(originPairs, 1)}) and ` +
    `${foreignConstraint}(${columns(foreignPairs, 0)})`;
}

function columns(pairs: readonly ColumnPair[], side: 0 | 1): string {
  return pairs.map((pair) => pair[side]).join(", ");
}

function noRelationship(embed: EmbedTarget, cache: SchemaCache): Error {
  const { origin, target, hint, schema } = embed;
  const candidates = candidatesOf(embed, cache);
  const names = candidates.map(({ foreign }) => foreign.name);
  const isRelated = candidates.length > 0 ||
    cache.relation(origin)?.hiddenJunctionsTo?.includes(schema) === true;
  return errors.noRelationship({
    parent: origin.name,
    child: target,
    schema,
    requestHint: hint,
    suggestion: isRelated
      ? instead(names.includes(target) ? null : suggest(target, names, minSimilarity), target)
      : instead(suggest(origin.name, cache.relatedOrigins(schema), minSimilarity), origin.name),
  });
}

const minSimilarity = 0.33;

function instead(match: string | null, target: string): string | null {
  return match && `Perhaps you meant '${match}' instead of '${quotable(target)}'.`;
}

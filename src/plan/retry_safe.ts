/** Decides whether a planned read can run twice without a second effect on the database, and
 * whether a standby may execute it. @module */
import type { FullTextOperator } from "../request/url/query_types.ts";
import type { QualifiedName, Relation, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { CallPlan } from "./call_plan.ts";
import type { BodyFormat, Representation } from "./negotiate.ts";
import { fieldsOf, fieldsOfCondition } from "./planned_values.ts";
import type {
  Condition,
  Embed,
  PlannedField,
  PlannedOrder,
  ReadItem,
  ReadNode,
} from "./read_node.ts";
import type { ReadPlan } from "./read_plan.ts";
import type { Plan } from "./plan.ts";

/** The parts of a plan that decide. A `Plan` of a read, write or call has them. */
type RetryCandidate =
  | {
    readonly kind: "read";
    readonly read: ReadPlan;
    readonly representation: Representation;
  }
  | {
    readonly kind: "call";
    readonly call: CallPlan;
    readonly representation: Representation;
  }
  | { readonly kind: "mutate" };

/**
 * Returns true if the schema cache shows that the plan runs only functions declared `STABLE` or
 * `IMMUTABLE`. It checks relations, the call, functions of rows, casts and aggregates. Configured
 * functions (`db-pre-request`) are not part of a plan.
 */
export function isRetrySafeRead(plan: RetryCandidate, cache: SchemaCache): boolean {
  const excluded = cache.derived(volatileFunctions);
  if (excluded === null) return false;
  return isAllowedPlan(plan, { cache, excluded, allows: ({ volatile }) => !volatile });
}

/**
 * Returns true if the plan is a retry-safe read that reaches no relation and no function with the tag
 * `@primary`.
 */
export function isStandbyRead(plan: RetryCandidate, cache: SchemaCache): boolean {
  const excluded = cache.derived(functionsOfPrimary);
  if (excluded === null) return false;
  const allows = ({ volatile, readsFrom }: Relation) => !volatile && readsFrom === undefined;
  return isAllowedPlan(plan, { cache, excluded, allows });
}

/** Names of functions; see `SchemaCacheData.volatileFunctions`. */
type FunctionNames = ReadonlySet<string>;

function volatileFunctions({ data }: SchemaCache): FunctionNames | null {
  return data.volatileFunctions === null ? null : new Set(data.volatileFunctions);
}

function functionsOfPrimary({ data }: SchemaCache): FunctionNames | null {
  const { volatileFunctions, primaryFunctions = [] } = data;
  return volatileFunctions === null ? null : new Set([...volatileFunctions, ...primaryFunctions]);
}

/** The relations and functions that a plan may reach. */
interface Scope {
  readonly cache: SchemaCache;
  /** Functions that it must not call. */
  readonly excluded: FunctionNames;
  readonly allows: (relation: Relation) => boolean;
}

function isAllowedPlan(plan: RetryCandidate, scope: Scope): boolean {
  if (plan.kind === "mutate") return false;
  if (!isAllowedFormat(plan.representation.format, scope.excluded)) return false;
  switch (plan.kind) {
    case "read":
      return isAllowedNode(plan.read.root, plan.read.relation, scope);
    case "call":
      return isAllowedRoutine(plan.call, scope.excluded) &&
        isAllowedNode(plan.call.read.root, plan.call.read.relation, scope);
    default:
      return plan satisfies never;
  }
}

/** Returns true if neither the function nor a default of its arguments is excluded. */
function isAllowedRoutine({ routine }: CallPlan, excluded: FunctionNames): boolean {
  return routine.volatility !== "volatile" && !excluded.has(routine.name);
}

function isAllowedFormat(format: BodyFormat, excluded: FunctionNames): boolean {
  switch (format.kind) {
    case "aggregate":
      return !excluded.has(format.function.name);
    case "geojson":
      return !excluded.has("st_asgeojson");
    case "array":
    case "object":
    case "csv":
    case "ndjson":
    case "value":
      return true;
    default:
      return format satisfies never;
  }
}

/**
 * Checks a node and all nodes below it. `origin` is the relation that has the columns of the rows;
 * null when unknown.
 */
function isAllowedNode(node: ReadNode, origin: QualifiedName | null, scope: Scope): boolean {
  const { relation, items, conditions, having, distinct, order, orderSources, embeds } = node;
  const isAllowed: FieldCheck = ({ column }) => isAllowedField(column, origin, scope);
  return (relation === null || isAllowedRelation(relation, scope)) &&
    items.every((item) => isAllowedItem(item, isAllowed, scope)) &&
    [...conditions, ...having].every((condition) =>
      isAllowedCondition(condition, isAllowed, scope)
    ) &&
    (distinct === null || distinct === "all" ||
      distinct.flatMap(fieldsOf).every(isAllowed)) &&
    order.every((term) => isAllowedOrder(term, isAllowed, scope)) &&
    orderSources.every((source) => isAllowedNode(source.node, source.node.relation, scope)) &&
    embeds.every((embed) => isAllowedEmbed(embed, scope));
}

function isAllowedRelation(name: QualifiedName, { cache, allows }: Scope): boolean {
  const relation = cache.relation(name);
  return relation !== undefined && allows(relation);
}

type FieldCheck = (field: PlannedField) => boolean;

/** Checks a field. A name that is not a column of the relation may be a function of the row. */
function isAllowedField(
  column: string,
  origin: QualifiedName | null,
  { cache, excluded }: Scope,
): boolean {
  const isColumn = origin !== null && cache.column(origin, column) !== undefined;
  return isColumn || !excluded.has(column);
}

function isAllowedEmbed({ node, join }: Embed, scope: Scope): boolean {
  const isAllowed = isAllowedNode(node, node.relation, scope);
  switch (join.kind) {
    case "columns":
      return isAllowed;
    case "junction":
      return isAllowed && isAllowedRelation(join.junction, scope);
    case "function":
      return isAllowed && !scope.excluded.has(join.function.name);
    default:
      return join satisfies never;
  }
}

function isAllowedItem(
  item: ReadItem,
  isAllowed: FieldCheck,
  { excluded }: Scope,
): boolean {
  switch (item.kind) {
    case "all":
    case "cursor":
      return true;
    case "column":
      return isAllowed(item.field) && isAllowedConversion(item.convert, excluded);
    case "aggregate":
      return !excluded.has(item.function) &&
        (item.argument === null || isAllowed(item.argument.field));
    case "value":
      return fieldsOf(item.value).every(isAllowed);
    default:
      return item satisfies never;
  }
}

function isAllowedConversion(convert: QualifiedName | null, excluded: FunctionNames): boolean {
  return convert === null || !excluded.has(convert.name);
}

function isAllowedCondition(
  condition: Condition,
  isAllowed: FieldCheck,
  scope: Scope,
): boolean {
  switch (condition.kind) {
    case "group":
      return condition.children.every((child) => isAllowedCondition(child, isAllowed, scope));
    case "embedded":
      return true;
    case "related":
      return namesNoFunction(fieldsOfCondition(condition), scope);
    case "compare":
    case "in":
      return fieldsOfCondition(condition).every(isAllowed) &&
        isAllowedConversion(condition.convert, scope.excluded);
    case "is":
    case "isdistinct":
    case "similar":
    case "column":
      return fieldsOfCondition(condition).every(isAllowed);
    case "fullText":
      return fieldsOfCondition(condition).every(isAllowed) &&
        !scope.excluded.has("to_tsvector") &&
        !scope.excluded.has(textQueryFunctions[condition.operator]);
    default:
      return condition satisfies never;
  }
}

/** Returns true if no field has the name of an excluded function: its relation is another one. */
function namesNoFunction(fields: readonly PlannedField[], { excluded }: Scope): boolean {
  return fields.every(({ column }) => !excluded.has(column));
}

/**
 * Functions that full-text operators call, by operator. A user-defined function of the same name
 * may match the argument types better than the built-in one.
 */
const textQueryFunctions: Readonly<Record<FullTextOperator, string>> = {
  fts: "to_tsquery",
  plfts: "plainto_tsquery",
  phfts: "phraseto_tsquery",
  wfts: "websearch_to_tsquery",
};

/** Checks an order term. A related term names an output of its embed, or a function of the row. */
function isAllowedOrder(
  term: PlannedOrder,
  isAllowed: FieldCheck,
  { excluded }: Scope,
): boolean {
  switch (term.kind) {
    case "field":
      return isAllowed(term.field);
    case "value":
      return term.value.kind === "related"
        ? fieldsOf(term.value).every(({ column }) => !excluded.has(column))
        : fieldsOf(term.value).every(isAllowed);
    case "output":
      return true;
    case "related":
      return !excluded.has(term.key);
    default:
      return term satisfies never;
  }
}

/**
 * Returns true if neither the database nor the client can tell several inserts from one. The result
 * contains no rows, no row is written twice, and no user-defined function makes or checks values: see
 * `Relation.hasDivisibleInserts`.
 */
export function isDivisibleInsert(plan: Plan): boolean {
  if (plan.kind !== "mutate" || plan.action !== "insert") return false;
  const { mutate, representation } = plan;
  return mutate.kind === "insert" &&
    mutate.nested === null &&
    mutate.relation.hasDivisibleInserts === true &&
    mutate.returning === "none" &&
    mutate.conflict?.resolution !== "merge" &&
    mutate.rows.columns.every(({ fromJson }) => fromJson === null) &&
    representation.explain === null &&
    // The response to a single object depends on the number of rows.
    representation.format.kind !== "object";
}

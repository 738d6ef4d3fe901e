/**
 * Decides whether a planned read can run twice without a second effect on the database.
 *
 * @module
 */
import type { FullTextOperator } from "../request/query_types.ts";
import type { QualifiedName, SchemaCache } from "../schema_cache/schema_cache.ts";
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

/** The parts of a plan that decide. A `Plan` of a read, write or call has them. */
export type RetryCandidate =
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
  if (plan.kind === "mutate") return false;
  const volatile = cache.derived(volatileFunctions);
  if (volatile === null || !isRetrySafeFormat(plan.representation.format, volatile)) return false;
  const scope = { cache, volatile };
  switch (plan.kind) {
    case "read":
      return isRetrySafeNode(plan.read.root, plan.read.relation, scope);
    case "call":
      return isRetrySafeRoutine(plan.call, volatile) &&
        isRetrySafeNode(plan.call.read.root, plan.call.read.relation, scope);
    default:
      return plan satisfies never;
  }
}

/** Names of functions; see `SchemaCacheData.volatileFunctions`. */
type FunctionNames = ReadonlySet<string>;

function volatileFunctions({ data }: SchemaCache): FunctionNames | null {
  return data.volatileFunctions === null ? null : new Set(data.volatileFunctions);
}

/** Returns true if neither the function nor a default of its arguments is volatile. */
function isRetrySafeRoutine({ routine }: CallPlan, volatile: FunctionNames): boolean {
  return routine.volatility !== "volatile" && !volatile.has(routine.name);
}

function isRetrySafeFormat(format: BodyFormat, volatile: FunctionNames): boolean {
  switch (format.kind) {
    case "aggregate":
      return !volatile.has(format.function.name);
    case "geojson":
      return !volatile.has("st_asgeojson");
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

interface Scope {
  readonly cache: SchemaCache;
  readonly volatile: FunctionNames;
}

/**
 * Checks a node and all nodes below it. `origin` is the relation that has the columns of the rows;
 * null when unknown.
 */
function isRetrySafeNode(node: ReadNode, origin: QualifiedName | null, scope: Scope): boolean {
  const { relation, items, conditions, having, distinct, order, orderSources, embeds } = node;
  const isRetrySafe: FieldCheck = ({ column }) => isRetrySafeField(column, origin, scope);
  return (relation === null || isRetrySafeRelation(relation, scope)) &&
    items.every((item) => isRetrySafeItem(item, isRetrySafe, scope)) &&
    [...conditions, ...having].every((condition) =>
      isRetrySafeCondition(condition, isRetrySafe, scope)
    ) &&
    (distinct === null || distinct === "all" ||
      distinct.flatMap(fieldsOf).every(isRetrySafe)) &&
    order.every((term) => isRetrySafeOrder(term, isRetrySafe, scope)) &&
    orderSources.every((source) => isRetrySafeNode(source.node, source.node.relation, scope)) &&
    embeds.every((embed) => isRetrySafeEmbed(embed, scope));
}

function isRetrySafeRelation(name: QualifiedName, { cache }: Scope): boolean {
  return cache.relation(name)?.volatile === false;
}

type FieldCheck = (field: PlannedField) => boolean;

/** Checks a field. A name that is not a column of the relation may be a function of the row. */
function isRetrySafeField(
  column: string,
  origin: QualifiedName | null,
  { cache, volatile }: Scope,
): boolean {
  const isColumn = origin !== null && cache.column(origin, column) !== undefined;
  return isColumn || !volatile.has(column);
}

function isRetrySafeEmbed({ node, join }: Embed, scope: Scope): boolean {
  const isRetrySafe = isRetrySafeNode(node, node.relation, scope);
  switch (join.kind) {
    case "columns":
      return isRetrySafe;
    case "junction":
      return isRetrySafe && isRetrySafeRelation(join.junction, scope);
    case "function":
      return isRetrySafe && !scope.volatile.has(join.function.name);
    default:
      return join satisfies never;
  }
}

function isRetrySafeItem(
  item: ReadItem,
  isRetrySafe: FieldCheck,
  { volatile }: Scope,
): boolean {
  switch (item.kind) {
    case "all":
    case "cursor":
      return true;
    case "column":
      return isRetrySafe(item.field) && isRetrySafeConversion(item.convert, volatile);
    case "aggregate":
      return !volatile.has(item.function) &&
        (item.argument === null || isRetrySafe(item.argument.field));
    case "value":
      return fieldsOf(item.value).every(isRetrySafe);
    default:
      return item satisfies never;
  }
}

function isRetrySafeConversion(convert: QualifiedName | null, volatile: FunctionNames): boolean {
  return convert === null || !volatile.has(convert.name);
}

function isRetrySafeCondition(
  condition: Condition,
  isRetrySafe: FieldCheck,
  scope: Scope,
): boolean {
  switch (condition.kind) {
    case "group":
      return condition.children.every((child) => isRetrySafeCondition(child, isRetrySafe, scope));
    case "embedded":
      return true;
    case "related":
      return namesNoFunction(fieldsOfCondition(condition), scope);
    case "compare":
    case "in":
      return fieldsOfCondition(condition).every(isRetrySafe) &&
        isRetrySafeConversion(condition.convert, scope.volatile);
    case "is":
    case "isdistinct":
    case "similar":
    case "column":
      return fieldsOfCondition(condition).every(isRetrySafe);
    case "fullText":
      return fieldsOfCondition(condition).every(isRetrySafe) &&
        !scope.volatile.has("to_tsvector") &&
        !scope.volatile.has(textQueryFunctions[condition.operator]);
    default:
      return condition satisfies never;
  }
}

/** Returns true if no field has the name of a volatile function: its relation is another one. */
function namesNoFunction(fields: readonly PlannedField[], { volatile }: Scope): boolean {
  return fields.every(({ column }) => !volatile.has(column));
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
function isRetrySafeOrder(
  term: PlannedOrder,
  isRetrySafe: FieldCheck,
  { volatile }: Scope,
): boolean {
  switch (term.kind) {
    case "field":
      return isRetrySafe(term.field);
    case "value":
      return term.value.kind === "related"
        ? fieldsOf(term.value).every(({ column }) => !volatile.has(column))
        : fieldsOf(term.value).every(isRetrySafe);
    case "output":
      return true;
    case "related":
      return !volatile.has(term.key);
    default:
      return term satisfies never;
  }
}

/** Decides whether a planned read can run twice, whether a standby may execute it, and whether it
 * may change the session. @module */
import { operatorSql } from "../request/url/operators.ts";
import type {
  QualifiedName,
  Relation,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import { aggregateIn, fieldsOf } from "./values/planned_values.ts";
import type { Condition, PlannedField, PlannedValue, ReadItem, ReadNode } from "./read_node.ts";
import type { CallPlan } from "./call_plan.ts";
import type { Representation } from "./negotiate.ts";
import type { ReadPlan } from "./read/read_plan.ts";
import type { MutatePlan } from "./write/mutate_plan.ts";

/** The parts of a plan on which the decision depends. */
type RetryCandidate =
  | { readonly kind: "read"; readonly read: ReadPlan; readonly representation: Representation }
  | { readonly kind: "call"; readonly call: CallPlan; readonly representation: Representation }
  | {
    readonly kind: "mutate";
    readonly mutate: MutatePlan;
    readonly representation: Representation;
  };

/**
 * Returns whether the plan certainly runs only functions declared `STABLE` or `IMMUTABLE`. Checks
 * relations, the call, row functions, casts and aggregates in the schema cache. Configured
 * functions such as `db-pre-request` are not part of a plan.
 */
export function isRetrySafeRead(plan: RetryCandidate, cache: SchemaCache): boolean {
  const excluded = cache.derived(volatileFunctions);
  if (excluded === null) return false;
  return isAllowedPlan(plan, cache, excluded, ({ volatile }) => !volatile);
}

/** Returns whether a read is retry-safe, and uses nothing with the tag `@primary`. */
export function isStandbyRead(plan: RetryCandidate, cache: SchemaCache): boolean {
  const excluded = cache.derived(functionsOfPrimary);
  if (excluded === null) return false;
  const allows = ({ volatile, readsFrom }: Relation) => !volatile && readsFrom === undefined;
  return isAllowedPlan(plan, cache, excluded, allows);
}

/** Returns whether the plan may run a function that changes the session, for example a setting, for
 * later transactions on the connection. Also functions declared `STABLE` can change the session. */
export function mayChangeSession(plan: RetryCandidate, cache: SchemaCache): boolean {
  const excluded = cache.derived(sessionFunctions);
  if (excluded === null || plan.kind === "call") return true;
  const allows = ({ changesSession }: Relation) => changesSession !== "read";
  if (plan.kind === "read") return !isAllowedPlan(plan, cache, excluded, allows);
  const { mutate, representation } = plan;
  const { relation, read } = mutate;
  if (relation.changesSession !== undefined || mutate.kind === "patch") return true;
  if (mutate.kind === "insert" && mutate.nested !== null) return true;
  if (mutate.kind !== "delete" && mutate.rows.columns.some(({ fromJson }) => fromJson !== null)) {
    return true;
  }
  const conflict = mutate.kind === "insert" ? mutate.conflict?.where ?? [] : [];
  const reach = new Reach(cache);
  reach.addConditions([...mutate.where ?? [], ...conflict], relation);
  return !reach.isAllowed(excluded, allows) ||
    (read !== null &&
      !isAllowedPlan({ kind: "read", read, representation }, cache, excluded, allows));
}

function sessionFunctions(
  { data: { sessionFunctions = null } }: SchemaCache,
): FunctionNames | null {
  return sessionFunctions === null ? null : new Set(sessionFunctions);
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

/** Returns whether a plan uses only permitted relations and no excluded function. */
function isAllowedPlan(
  plan: RetryCandidate,
  cache: SchemaCache,
  excluded: FunctionNames,
  allows: (relation: Relation) => boolean,
): boolean {
  if (plan.kind === "mutate") return false;
  if (plan.kind === "call" && plan.call.routine.volatility === "volatile") return false;
  const { root, relation } = plan.kind === "read" ? plan.read : plan.call.read;
  const reach = reachOf(root, relation, cache);
  if (plan.kind === "call") reach.functions.push(plan.call.routine.name);
  const { format } = plan.representation;
  if (format.kind === "aggregate") reach.functions.push(format.function.name);
  if (format.kind === "geojson") reach.functions.push("st_asgeojson");
  return reach.isAllowed(excluded, allows);
}

/** Returns the relations and functions that a node uses. `origin` is the relation of the columns. */
export function reachOf(node: ReadNode, origin: QualifiedName | null, cache: SchemaCache): Reach {
  const reach = new Reach(cache);
  reach.addNode(node, origin);
  return reach;
}

/** Visits a field. Its name may be the name of a row function. */
type FieldVisitor = (field: PlannedField) => void;

class Reach {
  readonly relations: QualifiedName[] = [];
  /** Names of functions, also of possible row functions and of possible overloads of built-in functions. */
  readonly functions: string[] = [];
  readonly #cache: SchemaCache;

  constructor(cache: SchemaCache) {
    this.#cache = cache;
  }

  isAllowed(excluded: FunctionNames, allows: (relation: Relation) => boolean): boolean {
    return this.functions.every((name) => !excluded.has(name)) &&
      this.relations.every((name) => {
        const relation = this.#cache.relation(name);
        return relation !== undefined && allows(relation);
      });
  }

  /** Adds a node and its descendants. `origin` is the relation of the node's columns; null if unknown. */
  addNode(node: ReadNode, origin: QualifiedName | null): void {
    const { relation, items, conditions, having, distinct, order, orderSources, embeds } = node;
    const addField = this.#fieldsOf(origin);
    if (relation !== null) this.relations.push(relation);
    for (const item of items) this.#addItem(item, addField);
    this.addConditions([...conditions, ...having], origin);
    if (distinct !== null && distinct !== "all") {
      distinct.forEach((value) => this.#addValue(value, addField));
    }
    for (const term of order) {
      if (term.kind === "value") this.#addValue(term.value, addField);
      // The key is added, because it may name a function of the embed's row.
      if (term.kind === "related") this.functions.push(term.key);
    }
    for (const source of orderSources) this.addNode(source.node, source.node.relation);
    for (const { node, join } of embeds) {
      this.addNode(node, node.relation);
      if (join.kind === "junction") this.relations.push(join.junction);
      if (join.kind === "function") this.functions.push(join.function.name);
    }
  }

  addConditions(conditions: readonly Condition[], origin: QualifiedName | null): void {
    const addField = this.#fieldsOf(origin);
    for (const condition of conditions) this.#addCondition(condition, addField);
  }

  #fieldsOf(origin: QualifiedName | null): FieldVisitor {
    return ({ column }) => {
      const isColumn = origin !== null && this.#cache.column(origin, column) !== undefined;
      if (!isColumn) this.functions.push(column);
    };
  }

  #addItem(item: ReadItem, addField: FieldVisitor): void {
    if (item.kind === "column" && item.convert !== null) this.functions.push(item.convert.name);
    if (item.kind === "value") this.#addValue(item.value, addField);
    if ("field" in item) addField(item.field);
  }

  #addCondition(condition: Condition, addField: FieldVisitor): void {
    switch (condition.kind) {
      case "group":
        return condition.children.forEach((child) => this.#addCondition(child, addField));
      case "related":
        return condition.conditions.forEach((child) => this.#addCondition(child, this.#addOther));
      case "embedded":
        return;
      case "fullText":
        // Built-in names are added: a user-defined overload may match the arguments better.
        this.functions.push("to_tsvector", operatorSql(condition.operator));
        break;
      case "column":
        this.#addValue(condition.other, addField);
        break;
      case "compare":
      case "in":
        if (condition.convert !== null) this.functions.push(condition.convert.name);
    }
    this.#addValue(condition.field, addField);
  }

  #addValue(value: PlannedValue, addField: FieldVisitor): void {
    if (value.kind === "related") return this.#addValue(value.value, this.#addOther);
    fieldsOf(value).forEach(addField);
    const aggregate = aggregateIn(value);
    if (aggregate !== null) this.functions.push(aggregate.function);
  }

  /** Adds a field of another relation than the node's, as a name that may be a row function. */
  readonly #addOther: FieldVisitor = ({ column }) => void this.functions.push(column);
}

/**
 * Lists the texts that a plan compares columns with, and passes as arguments.
 *
 * @module
 */
import { isPlainField } from "../plan/planned_values.ts";
import type { Condition, FieldCondition, PlannedField, ReadNode } from "../plan/read_node.ts";
import type { QualifiedName, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { DataPlan } from "../transaction/data_plan.ts";

/** A text of a request that becomes a parameter. */
export interface ComparedText {
  readonly text: string;
  /** Whether it is the only element of a list. */
  readonly isList: boolean;
  /** Type that the parameter has; null for text, undefined if it is unknown. */
  readonly type: string | null | undefined;
}

/** Lists the texts of a plan's filters and arguments. */
export function comparedTexts(plan: DataPlan, cache: SchemaCache): readonly ComparedText[] {
  switch (plan.kind) {
    case "read":
      return ofNode(plan.read.root, plan.relation, cache);
    case "mutate": {
      const { mutate } = plan;
      const { relation } = mutate;
      return [
        ...("where" in mutate && mutate.where !== null
          ? ofConditions(mutate.where, relation, cache)
          : []),
        ...(mutate.read === null ? [] : ofNode(mutate.read.root, relation, cache)),
      ];
    }
    case "call": {
      const { arguments: given, routine, read } = plan.call;
      return [
        ...(given.kind === "values" ? ofArguments(given.values) : []),
        ...ofNode(read.root, routine.returns.relation, cache),
      ];
    }
    default:
      return plan satisfies never;
  }
}

type ValueArguments = Extract<
  Extract<DataPlan, { kind: "call" }>["call"]["arguments"],
  { kind: "values" }
>["values"];

function ofArguments(values: ValueArguments): readonly ComparedText[] {
  return values.flatMap(({ parameter, values: [text] }) =>
    typeof text === "string" && !parameter.variadic ? [{ text, isList: false, type: null }] : []
  );
}

/** `outer` is the relation of a node whose rows come from elsewhere. */
function ofNode(
  { relation, conditions, embeds }: ReadNode,
  outer: QualifiedName | null,
  cache: SchemaCache,
): readonly ComparedText[] {
  return [
    ...ofConditions(conditions, relation ?? outer, cache),
    ...embeds.flatMap(({ node }) => ofNode(node, null, cache)),
  ];
}

function ofConditions(
  conditions: readonly Condition[],
  relation: QualifiedName | null,
  cache: SchemaCache,
): readonly ComparedText[] {
  return conditions.flatMap((condition) => {
    if (condition.kind === "group") return ofConditions(condition.children, relation, cache);
    if (condition.kind === "embedded" || condition.kind === "related") return [];
    const field = isPlainField(condition.field) ? condition.field : null;
    return ofComparison(condition, typeOf(field, relation, cache));
  });
}

/** Patterns are texts whatever they are compared with. */
const patterns: ReadonlySet<string> = new Set(["like", "ilike", "match", "imatch"]);

function ofComparison(
  condition: FieldCondition,
  type: string | null | undefined,
): readonly ComparedText[] {
  switch (condition.kind) {
    case "compare": {
      const { value: text, operator, quantifier, convert } = condition;
      if (quantifier !== null) return [];
      const isText = convert !== null || patterns.has(operator);
      return [{ text, isList: false, type: isText ? null : type }];
    }
    case "in": {
      const { values: [text = "", ...others], convert } = condition;
      return others.length > 0
        ? []
        : [{ text, isList: true, type: convert === null ? type : null }];
    }
    case "isdistinct":
      return [{ text: condition.value, isList: false, type }];
    default:
      return [];
  }
}

/** Returns the type of a field without modifier; `->>` makes text. */
function typeOf(
  field: PlannedField | null,
  relation: QualifiedName | null,
  cache: SchemaCache,
): string | null | undefined {
  if (field === null) return undefined;
  const last = field.path.at(-1);
  if (last !== undefined) return last.arrow === "->>" ? null : undefined;
  const cached = relation === null ? undefined : cache.relation(relation);
  return cached === undefined ? undefined : cache.column(cached, field.column)?.baseType;
}

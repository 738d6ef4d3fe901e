/** What query strings say, made at random. @module */
import fc from "fast-check";
import { operatorWords } from "../../../../src/api/request/url/operators.ts";
import type {
  EmbedTest,
  Filter,
  IsWord,
  LogicGroup,
  LogicTree,
  Operation,
  OrderTerm,
  SelectItem,
} from "../../../../src/api/request/url/query_types.ts";
import type {
  Field,
  Operand,
  PathStep,
  Value,
  ValueArgument,
  ValueStep,
} from "../../../../src/api/request/url/value_types.ts";

/** Texts that PostgreSQL can hold, most of them short and full of what has a meaning in URLs. */
export const text = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'a,.:;()*!"\\->[]{}/@&=+% \téß語😀') }),
  fc.string({ unit: "binary" }).filter((each) => !each.includes("\0")),
);
export const name = fc.oneof(text, fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/));
const word = fc.stringMatching(/^[a-z_][a-z0-9_$]{0,8}( [a-z0-9]+)?$/);
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });

const step: fc.Arbitrary<PathStep> = fc.record({
  arrow: fc.constantFrom("->", "->>"),
  operand: fc.oneof(
    fc.record({ kind: fc.constant("key" as const), key: name }),
    fc.record({ kind: fc.constant("index" as const), index: fc.integer().map(String) }),
  ),
});
export const field: fc.Arbitrary<Field> = fc.record({
  name,
  path: fc.array(step, { maxLength: 3 }),
});

const argument: fc.Arbitrary<ValueArgument> = fc.oneof(
  fc.record({
    kind: fc.constant("number" as const),
    text: fc.oneof(fc.integer().map(String), fc.stringMatching(/^-?[0-9]{1,5}\.[0-9]{1,5}$/)),
  }),
  fc.record({ kind: fc.constant("text" as const), text }),
  fc.record({ kind: fc.constant("parameter" as const), name: word }),
  fc.record({
    kind: fc.constant("value" as const),
    value: fc.record({ field: fc.record({ name, path: fc.constant([]) }), steps: fc.constant([]) }),
  }),
);
const call = fc.record({
  kind: fc.constant("call" as const),
  name: fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/).filter((each) =>
    !operatorWords.includes(each) && !/^(?:any|all|none)$/.test(each)
  ),
  arguments: fc.array(argument, { maxLength: 3 }),
});
const cast = fc.option(fc.record({ kind: fc.constant("cast" as const), type: word }), {
  nil: null,
});
const steps: fc.Arbitrary<ValueStep[]> = fc.tuple(
  cast,
  fc.array(fc.tuple(call, cast), { maxLength: 3 }),
).map((parts) => parts.flat(2).filter((step) => step !== null));
/** A value with at least one call, which no shorter form of a select item has. */
const value: fc.Arbitrary<Value> = fc.record({ field: orNull(field), steps, call }).map((
  { field, steps, call },
) => ({ field, steps: [...steps, call] }));
const related: fc.Arbitrary<Operand> = fc.record({
  kind: fc.constant("related" as const),
  embed: name,
  operand: fc.record({ kind: fc.constant("value" as const), value }),
});
const operand: fc.Arbitrary<Operand> = fc.oneof(
  fc.record({ kind: fc.constant("value" as const), value }),
  related,
);

/** Returns the field that stands beside an operand. */
function fieldBeside(operand: Operand): Field {
  if (operand.kind === "related") return { name: operand.embed, path: [] };
  return operand.value.field ?? { name: "count", path: [] };
}

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    kind: fc.constant("column" as const),
    operator: fc.constantFrom("eq", "neq", "gt", "like", "cs", "isdistinct"),
    operand,
    isExcluded: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("compare" as const),
    operator: fc.constantFrom("neq", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj"),
    quantifier: fc.constant(null),
    value: text,
  }),
  fc.record({
    kind: fc.constant("compare" as const),
    operator: fc.constantFrom("eq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch"),
    quantifier: fc.constantFrom(null, "any", "all"),
    value: text,
  }),
  fc.record({
    kind: fc.constant("in" as const),
    values: fc.array(text).filter((values) => values.length !== 1 || values[0] !== ""),
  }),
  fc.record({
    kind: fc.constant("is" as const),
    word: fc.constantFrom<IsWord>("null", "not_null", "true", "false", "unknown"),
  }),
  fc.record({ kind: fc.constant("isdistinct" as const), value: text }),
  fc.record({
    kind: fc.constant("similar" as const),
    operator: fc.constantFrom("sim", "wsim", "swsim"),
    value: text,
  }),
  fc.record({
    kind: fc.constant("fullText" as const),
    operator: fc.constantFrom("fts", "plfts", "phfts", "wfts"),
    language: orNull(word),
    value: text,
  }),
);
export const filter: fc.Arbitrary<Filter> = fc.record({
  kind: fc.constant("filter"),
  field,
  negated: fc.boolean(),
  operation,
});

const comparison: fc.Arbitrary<Filter> = fc.record({
  kind: fc.constant("filter" as const),
  operand,
  negated: fc.boolean(),
  operation,
}).map((each) => ({ ...each, field: fieldBeside(each.operand) }));

export const { group } = fc.letrec<{ tree: LogicTree; test: EmbedTest; group: LogicGroup }>((
  tie,
) => ({
  tree: fc.oneof({ maxDepth: 4 }, filter, comparison, tie("test"), tie("group")),
  test: fc.record({
    kind: fc.constant("embedTest" as const),
    embed: name,
    quantifier: fc.constantFrom("any" as const, "all" as const, "none" as const),
    children: fc.array(tie("tree"), { minLength: 1, maxLength: 2 }),
  }),
  group: fc.record({
    kind: fc.constant("group"),
    negated: fc.boolean(),
    operator: fc.constantFrom("and", "or"),
    children: fc.array(tie("tree"), { minLength: 1, maxLength: 4 }),
  }),
}));

const embed = {
  target: name,
  hint: orNull(name),
  join: orNull(fc.constantFrom("left" as const, "inner" as const)),
};
const leftOut = fc.record({ kind: fc.constant("leftOut" as const), column: name });
export const { items } = fc.letrec<{ items: SelectItem[]; item: SelectItem }>((tie) => ({
  items: fc.oneof(
    fc.array(tie("item"), { maxLength: 4 }),
    // No list begins with a column that is left out.
    fc.tuple(tie("item"), leftOut),
  ),
  item: fc.oneof(
    { maxDepth: 4 },
    fc.constant<SelectItem>({ kind: "all" }),
    fc.constant<SelectItem>({ kind: "all", only: "selectable" }),
    fc.record({
      kind: fc.constant("value" as const),
      value: cast.map((step): Value => ({ field: null, steps: step === null ? [] : [step] })),
      alias: orNull(name),
    }),
    fc.record({
      kind: fc.constant("field" as const),
      field,
      alias: orNull(name),
      cast: orNull(word),
    }),
    fc.record({ kind: fc.constant("value" as const), value, alias: orNull(name) }),
    fc.record({
      kind: fc.constant("relation" as const),
      alias: orNull(name),
      ...embed,
      // No relation is called so.
      target: name.filter((each) => each !== "count"),
      select: tie("items"),
    }),
    fc.record({ kind: fc.constant("spread" as const), ...embed, select: tie("items") }),
  ),
}));

const placement = {
  direction: fc.constantFrom(null, "asc" as const, "desc" as const),
  nulls: fc.constantFrom(null, "first" as const, "last" as const),
};
export const term: fc.Arbitrary<OrderTerm> = fc.oneof(
  fc.record({ relation: orNull(name), field, ...placement }),
  fc.record({ operand, ...placement }).map((each) => ({
    ...each,
    relation: each.operand.kind === "related" ? each.operand.embed : null,
    field: fieldBeside(each.operand),
  })),
);

/** Names and texts with lone surrogates come back with U+FFFD: UTF-8 has none. */
export function wellFormed<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value),
    (_, each) => typeof each === "string" ? each.toWellFormed() : each,
  );
}

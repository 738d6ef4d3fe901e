/** The value of `select`. @module */
import { cast, fieldFrom, name, seesName } from "./name_grammar.ts";
import type {
  JoinType,
  SelectField,
  SelectItem,
  SelectLeftOut,
  SelectRelation,
  SelectSpread,
  SelectValue,
} from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { castSteps, seesCall, steps } from "./value_grammar.ts";
import type { Field, Value } from "./value_types.ts";

const itemStart = ['"..."', "field name (* or [a..z0..9_$])", '"*"', '"count()"'] as const;
const closing = ['")"'] as const;
const nextOrClosing = ['","', '")"'] as const;
const closingOrNext = ['")"', '","'] as const;
const comma = ['","'] as const;
const colon = ['":"'] as const;
const castMark = ['"::"'] as const;
const aggregateMark = ['"."'] as const;
const call = ['"()"'] as const;
const embedStart = ['"!"', '"("'] as const;
const joinWords = ["left", "inner"] as const;
const joinLabels = joinWords.map((word) => `"${word}"`);
const aggregates = ["sum", "avg", "count", "max", "min"] as const;
const aggregateLabels = aggregates.map((word) => `"${word}"`);

/** Aggregates of PostgREST. */
export const plainAggregates: ReadonlySet<string> = new Set(aggregates);

const nothing: readonly SelectItem[] = [];

/** `select-param = select`, to the end of the text. */
export function select(scanner: Scanner): readonly SelectItem[] {
  const read = items(scanner);
  if (!scanner.atEnd) scanner.forget();
  scanner.takeEnd(comma);
  return read;
}

/** `select = item *( "," ( item / left-out ) )` */
function items(scanner: Scanner): readonly SelectItem[] {
  let isFirst = true;
  return scanner.list("items of 'select'", () => {
    scanner.skipBlanks();
    const read = !isFirst && scanner.skip("-") ? leftOut(scanner) : item(scanner);
    isFirst = false;
    return read;
  });
}

/** `left-out = "-" name` */
function leftOut(scanner: Scanner): SelectLeftOut {
  return atItemEnd(scanner, { kind: "leftOut", column: name(scanner) });
}

/** `item = spread / relation / field-item / "*" / "**"` */
function item(scanner: Scanner): SelectItem {
  if (seesName(scanner)) return named(scanner);
  if (scanner.sees(".")) {
    scanner.take("...", itemStart);
    return { kind: "spread", ...embed(scanner, name(scanner)) };
  }
  if (scanner.skip("**")) return atItemEnd(scanner, { kind: "all", only: "selectable" });
  if (scanner.skip("*")) return atItemEnd(scanner, { kind: "all" });
  return scanner.fail(itemStart);
}

interface EmbedHead {
  readonly hint: string | null;
  readonly join: JoinType | null;
}

/** `embed = target params "(" [ select ] ")"`, after the target's first name. */
function embed(scanner: Scanner, first: string): Omit<SelectSpread, "kind"> {
  const place = placeOf(scanner, first);
  const head = parameters(scanner);
  if (!scanner.sees("(")) return scanner.fail(embedStart);
  return { ...place, ...head, select: scanner.nested("select", embedded) };
}

/** Reads what follows the first name of a relation, or of a schema and its relation: `[ "/" name ]`. */
function placeOf(scanner: Scanner, first: string): Pick<SelectSpread, "schema" | "target"> {
  return scanner.skip("/") ? { schema: first, target: name(scanner) } : { target: first };
}

/** `params = 0*2( "!left" / "!inner" / "!" name )`; the first hint and the first join apply. */
function parameters(scanner: Scanner): EmbedHead {
  let hint: string | null = null;
  let join: JoinType | null = null;
  for (let count = 0; count < 2 && scanner.skip("!"); count++) {
    const word = joinWords.find((each) => scanner.skip(each));
    if (word !== undefined) {
      join ??= word;
      continue;
    }
    scanner.expect(joinLabels);
    const read = name(scanner);
    hint ??= read;
  }
  return { hint, join };
}

/** `params` before a parenthesis. */
function relationHead(scanner: Scanner): EmbedHead {
  const head = parameters(scanner);
  return scanner.sees("(") ? head : scanner.fail();
}

/** `"(" [ select ] ")"` */
function embedded(scanner: Scanner): readonly SelectItem[] {
  scanner.skip("(");
  scanner.skipBlanks();
  if (scanner.skip(")")) return nothing;
  const start = scanner.position;
  const read = scanner.read(items);
  if (read === undefined) return scanner.fail(scanner.position === start ? closing : undefined);
  scanner.take(")", nextOrClosing);
  return read;
}

/** `[ name ":" ] ( relation / "count()" / field-item )`; a relation without a schema cannot be
 * called `count`. */
function named(scanner: Scanner): SelectItem {
  if (scanner.skip("count()")) return countItem(scanner, null);
  const first = name(scanner);
  if (!scanner.sees(":") || scanner.sees("::")) return relationOrField(scanner, first, null);
  scanner.skip(":");
  scanner.expect(colon);
  scanner.skipBlanks();
  if (scanner.skip("count()")) return countItem(scanner, first);
  return relationOrField(scanner, name(scanner), first);
}

/** `count-item = "count()" [ "::" cast ] steps` */
function countItem(scanner: Scanner, alias: string | null): SelectValue {
  return valueItem(scanner, { field: null, cast: optionalCast(scanner), alias });
}

function relationOrField(
  scanner: Scanner,
  target: string,
  alias: string | null,
): SelectRelation | SelectField | SelectValue {
  if (scanner.sees("/")) return { kind: "relation", alias, ...embed(scanner, target) };
  const head = target !== "count" && (scanner.sees("(") || scanner.sees("!"))
    ? scanner.attempt(relationHead)
    : undefined;
  if (head === undefined) return fieldItem(scanner, fieldFrom(scanner, target), alias);
  const inside = scanner.nested("select", embedded);
  const item: SelectRelation = { kind: "relation", target, alias, ...head, select: inside };
  return isMergeAction(item) && scanner.skip("::") ? { ...item, cast: cast(scanner) } : item;
}

/** Returns whether an item is `merge_action()`: the action of an upsert, or an embed of this name. */
export function isMergeAction({ schema, target, hint, join, select }: SelectRelation): boolean {
  return schema === undefined && target === "merge_action" && hint === null && join === null &&
    select.length === 0;
}

/** `field-item = field [ "::" cast ] steps`, after the field. */
function fieldItem(
  scanner: Scanner,
  field: Field,
  alias: string | null,
): SelectField | SelectValue {
  const cast = optionalCast(scanner);
  if (seesCall(scanner)) return valueItem(scanner, { field, cast, alias });
  if (scanner.skip(".")) {
    scanner.takeWord(aggregates, aggregateLabels);
    scanner.take("()", call);
  }
  scanner.expect(aggregateMark);
  optionalCast(scanner);
  return atItemEnd(scanner, { kind: "field", field, alias, cast });
}

function valueItem(
  scanner: Scanner,
  { field, cast, alias }: Pick<Value, "field"> & Pick<SelectField, "alias" | "cast">,
): SelectValue {
  const read = atItemEnd(scanner, seesCall(scanner) ? steps(scanner) : []);
  return { kind: "value", value: { field, steps: [...castSteps(cast), ...read] }, alias };
}

/** `[ "::" cast ]`: null if absent. */
function optionalCast(scanner: Scanner): string | null {
  if (scanner.skip("::")) return cast(scanner);
  if (scanner.sees(":")) {
    scanner.forget();
    scanner.take("::", castMark);
  }
  scanner.expect(castMark);
  return null;
}

/** Returns an item. Fails unless `)`, `,` or the end follows. */
function atItemEnd<Item>(scanner: Scanner, item: Item): Item {
  scanner.skipBlanks();
  if (scanner.sees(",") || scanner.sees(")") || scanner.atEnd && !scanner.isNested) return item;
  return scanner.failAtEnd(closingOrNext);
}

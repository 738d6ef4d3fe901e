/** The value of `select`. @module */
import { cast, fieldFrom, name, seesName } from "./name_grammar.ts";
import type {
  AggregateFunction,
  Field,
  JoinType,
  SelectField,
  SelectItem,
  SelectLeftOut,
  SelectRelation,
  SelectSpread,
  SelectValue,
} from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { seesCall, steps } from "./value_grammar.ts";
import type { ValueStep } from "./value_types.ts";

const itemStart = [
  '"..."',
  "field name (* or [a..z0..9_$])",
  '"*"',
  '"count()"',
] as const;
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

const nothing: readonly SelectItem[] = [];

/** `select-param = [ select ]`, to the end of the text. */
export function select(scanner: Scanner): readonly SelectItem[] | undefined {
  scanner.skipBlanks();
  if (scanner.atEnd) return nothing;
  const read = items(scanner);
  if (read === undefined || scanner.atEnd) return read;
  scanner.forget();
  scanner.expectEnd(comma);
  return undefined;
}

/** `select = item *( "," ( item / left-out ) )` */
function items(scanner: Scanner): readonly SelectItem[] | undefined {
  const read: SelectItem[] = [];
  do {
    const isFirst = read.length === 0;
    scanner.skipBlanks();
    const next = !isFirst && scanner.skip("-")
      ? leftOut(scanner)
      : item(scanner, { isFirst: isFirst && !scanner.isNested });
    if (next === undefined) return undefined;
    scanner.countPart("items of 'select'");
    read.push(next);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return read;
}

/** `left-out = "-" name` */
function leftOut(scanner: Scanner): SelectLeftOut | undefined {
  const column = name(scanner);
  if (column === undefined || !endsItem(scanner)) return undefined;
  return { kind: "leftOut", column };
}

/**
 * `item = spread / relation / field-item / "*" / "**" / "@cursor"`. `@cursor` is not the first item:
 * PostgREST reads such a text as all columns.
 */
function item(
  scanner: Scanner,
  { isFirst }: { readonly isFirst: boolean },
): SelectItem | undefined {
  if (seesName(scanner)) return named(scanner);
  if (!isFirst && scanner.skip("@cursor")) return cursorItem(scanner, null);
  if (scanner.sees(".")) return scanner.take("...", itemStart) ? spread(scanner) : undefined;
  if (scanner.skip("**")) {
    return endsItem(scanner) ? { kind: "all", only: "selectable" } : undefined;
  }
  if (scanner.skip("*")) return endsItem(scanner) ? { kind: "all" } : undefined;
  scanner.expect(itemStart);
  return undefined;
}

/** An embed without its items. */
interface EmbedHead {
  readonly hint: string | null;
  readonly join: JoinType | null;
}

/** `spread = "..." embed` */
function spread(scanner: Scanner): SelectSpread | undefined {
  const first = name(scanner);
  const read = first === undefined ? undefined : embed(scanner, first);
  return read === undefined ? undefined : { kind: "spread", ...read };
}

/** `embed = target params "(" [ select ] ")"`, after the first name of the target. */
function embed(scanner: Scanner, first: string): Omit<SelectSpread, "kind"> | undefined {
  const place = placeOf(scanner, first);
  const head = place === undefined ? undefined : parameters(scanner);
  if (place === undefined || head === undefined) return undefined;
  if (!scanner.sees("(")) {
    scanner.expect(embedStart);
    return undefined;
  }
  const inside = scanner.nested("select", embedded);
  return inside === undefined ? undefined : { ...place, ...head, select: inside };
}

/** `target = name [ "/" name ]`: a relation, or a schema and its relation; after the first name. */
function placeOf(
  scanner: Scanner,
  first: string,
): Pick<SelectSpread, "schema" | "target"> | undefined {
  if (!scanner.skip("/")) return { target: first };
  const target = name(scanner);
  return target === undefined ? undefined : { schema: first, target };
}

/** `params = 0*2( "!left" / "!inner" / "!" name )`; the first hint and the first join count. */
function parameters(scanner: Scanner): EmbedHead | undefined {
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
    if (read === undefined) return undefined;
    hint ??= read;
  }
  return { hint, join };
}

/** `params` before a parenthesis. */
function relationHead(scanner: Scanner): EmbedHead | undefined {
  const head = parameters(scanner);
  return scanner.sees("(") ? head : undefined;
}

/** `"(" [ select ] ")"` */
function embedded(scanner: Scanner): readonly SelectItem[] | undefined {
  scanner.skip("(");
  scanner.skipBlanks();
  if (scanner.skip(")")) return nothing;
  const start = scanner.position;
  const read = items(scanner);
  if (read === undefined) {
    if (scanner.position === start) scanner.expect(closing);
    return undefined;
  }
  return scanner.take(")", nextOrClosing) ? read : undefined;
}

/**
 * `[ name ":" ] ( relation / "count()" / "@cursor" / field-item )`; no relation without a schema is called
 * `count`.
 */
function named(scanner: Scanner): SelectItem | undefined {
  if (scanner.skip("count()")) return countItem(scanner, null);
  const first = name(scanner);
  if (first === undefined) return undefined;
  if (!seesAlias(scanner)) return relationOrField(scanner, first, null);
  scanner.skip(":");
  scanner.expect(colon);
  scanner.skipBlanks();
  if (scanner.skip("count()")) return countItem(scanner, first);
  if (scanner.skip("@cursor")) return cursorItem(scanner, first);
  const target = name(scanner);
  return target === undefined ? undefined : relationOrField(scanner, target, first);
}

function seesAlias(scanner: Scanner): boolean {
  return scanner.sees(":") && !scanner.sees("::");
}

/** `count-item = "count()" [ "::" cast ] steps` */
function countItem(scanner: Scanner, alias: string | null): SelectItem | undefined {
  const read = optionalCast(scanner);
  if (read !== undefined && seesCall(scanner)) {
    return valueItem(scanner, { field: null, cast: read, alias });
  }
  if (read === undefined || !endsItem(scanner)) return undefined;
  return { kind: "count", alias, cast: read };
}

function cursorItem(scanner: Scanner, alias: string | null): SelectItem | undefined {
  return endsItem(scanner) ? { kind: "cursor", alias } : undefined;
}

function relationOrField(
  scanner: Scanner,
  target: string,
  alias: string | null,
): SelectRelation | SelectField | SelectValue | undefined {
  if (scanner.sees("/")) {
    const read = embed(scanner, target);
    return read === undefined ? undefined : { kind: "relation", alias, ...read };
  }
  const head = target !== "count" && (scanner.sees("(") || scanner.sees("!"))
    ? scanner.attempt(relationHead)
    : undefined;
  if (head === undefined) {
    const field = fieldFrom(scanner, target);
    return field === undefined ? undefined : fieldItem(scanner, field, alias);
  }
  const inside = scanner.nested("select", embedded);
  if (inside === undefined) return undefined;
  const item: SelectRelation = { kind: "relation", target, alias, ...head, select: inside };
  if (!isMergeAction(item) || !scanner.skip("::")) return item;
  const type = cast(scanner);
  return type === undefined ? undefined : { ...item, cast: type };
}

/** Whether an item is `merge_action()`: what an upsert did with the row, or an embed of that name. */
export function isMergeAction(
  { schema, target, hint, join, select }: SelectRelation,
): boolean {
  return schema === undefined && target === "merge_action" && hint === null && join === null &&
    select.length === 0;
}

/** `field-item = field [ "::" cast ] [ "." agg "()" ] [ "::" cast ] steps`, after the field. */
function fieldItem(
  scanner: Scanner,
  field: Field,
  alias: string | null,
): SelectField | SelectValue | undefined {
  const inner = optionalCast(scanner);
  if (inner !== undefined && seesCall(scanner)) {
    return valueItem(scanner, { field, cast: inner, alias });
  }
  const aggregate = inner === undefined ? undefined : optionalAggregate(scanner);
  const outer = aggregate === undefined ? undefined : optionalCast(scanner);
  if (inner === undefined || aggregate === undefined || outer === undefined) return undefined;
  if (!endsItem(scanner)) return undefined;
  return { kind: "field", field, alias, cast: inner, aggregate, aggregateCast: outer };
}

/** The part of an item before its first call. */
interface CalledField {
  readonly field: Field | null;
  readonly cast: string | null;
  readonly alias: string | null;
}

/** Reads the calls of an item. One of the five simple aggregates is a {@linkcode SelectField}. */
function valueItem(
  scanner: Scanner,
  { field, cast, alias }: CalledField,
): SelectField | SelectValue | undefined {
  const read = steps(scanner);
  if (read === undefined || !endsItem(scanner)) return undefined;
  const [first, second, ...more] = read;
  const aggregate = field === null ? undefined : simpleAggregate(first);
  const outer = second?.kind === "cast" ? second.type : null;
  if (field !== null && aggregate !== undefined && more.length === 0 && second?.kind !== "call") {
    return { kind: "field", field, alias, cast, aggregate, aggregateCast: outer };
  }
  const before: readonly ValueStep[] = cast === null ? [] : [{ kind: "cast", type: cast }];
  return { kind: "value", value: { field, steps: [...before, ...read] }, alias };
}

function simpleAggregate(step: ValueStep | undefined): AggregateFunction | undefined {
  if (step?.kind !== "call" || step.arguments.length > 0) return undefined;
  return aggregates.find((name) => name === step.name);
}

/** `[ "::" cast ]`: null if absent. */
function optionalCast(scanner: Scanner): string | null | undefined {
  if (scanner.skip("::")) return cast(scanner);
  if (!scanner.sees(":")) {
    scanner.expect(castMark);
    return null;
  }
  scanner.forget();
  scanner.take("::", castMark);
  return undefined;
}

/** `[ "." agg "()" ]`: null if absent. */
function optionalAggregate(scanner: Scanner): AggregateFunction | null | undefined {
  if (!scanner.skip(".")) {
    scanner.expect(aggregateMark);
    return null;
  }
  const read = scanner.takeWord(aggregates, aggregateLabels);
  return read !== undefined && scanner.take("()", call) ? read : undefined;
}

/** An item ends before `)`, before `,`, or at the end of the text when no parenthesis is open. */
function endsItem(scanner: Scanner): boolean {
  scanner.skipBlanks();
  if (scanner.sees(",") || scanner.sees(")") || scanner.atEnd && !scanner.isNested) return true;
  scanner.expectEnd(closingOrNext);
  return false;
}

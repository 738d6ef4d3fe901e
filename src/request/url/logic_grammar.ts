/** Groups of conditions: the values of `and` and `or`. @module */
import { bare, operatorExpression, quotedWhole } from "./filter_grammar.ts";
import { delimiter, fieldFrom, name, seesName } from "./name_grammar.ts";
import type {
  EmbedQuantifier,
  EmbedTest,
  Field,
  Filter,
  LogicGroup,
  LogicTree,
} from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { relatedFrom, seesStep, steps } from "./value_grammar.ts";
import type { Operand } from "./value_types.ts";

const operators = ["and", "or"] as const;
const operatorLabel = ["logic operator (and, or)"] as const;
const treeStart = [
  "field name (* or [a..z0..9_$])",
  "negation operator (not)",
  ...operatorLabel,
] as const;
const openParenthesis = ['"("'] as const;
const groupEnd = ['","', '")"'] as const;

/** `group = ws "(" ws tree *( ws "," ws tree ) ws ")"`; text after it is ignored. */
export function group(scanner: Scanner): readonly LogicTree[] | undefined {
  scanner.skipBlanks();
  return scanner.nested("logic", members);
}

function members(scanner: Scanner): readonly LogicTree[] | undefined {
  if (!scanner.take("(", openParenthesis)) return undefined;
  const trees: LogicTree[] = [];
  do {
    const read = tree(scanner);
    if (read === undefined) return undefined;
    if (read.kind === "filter") scanner.countPart("conditions");
    trees.push(read);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return scanner.take(")", groupEnd) ? trees : undefined;
}

/** `tree = filter / [ "not." ] ( "and" / "or" ) group`; no filter begins as a group does. */
function tree(scanner: Scanner): LogicTree | undefined {
  scanner.skipBlanks();
  const start = scanner.position;
  if (seesGroup(scanner)) return groupTree(scanner);
  if (!seesName(scanner)) {
    scanner.expect(treeStart);
    return undefined;
  }
  const read = filterOrTest(scanner);
  if (read !== undefined) return read;
  scanner.position = start;
  if (seesGroupWord(scanner)) {
    scanner.forget();
    return groupTree(scanner);
  }
  return undefined;
}

function seesGroupWord(scanner: Scanner): boolean {
  return scanner.sees("not.") || scanner.sees("and") || scanner.sees("or");
}

/** Whether a group begins here. */
function seesGroup(scanner: Scanner): boolean {
  if (!seesGroupWord(scanner)) return false;
  const start = scanner.position;
  scanner.skip("not.");
  const hasOperator = scanner.skip("and") || scanner.skip("or");
  scanner.skipBlanks();
  const opens = scanner.sees("(");
  scanner.position = start;
  return hasOperator && opens;
}

function groupTree(scanner: Scanner): LogicGroup | undefined {
  const negated = scanner.skip("not.");
  const operator = scanner.takeWord(operators, operatorLabel);
  const children = operator === undefined ? undefined : group(scanner);
  if (operator === undefined || children === undefined) return undefined;
  return { kind: "group", negated, operator, children };
}

/** `filter / embed-test` */
function filterOrTest(scanner: Scanner): Filter | EmbedTest | undefined {
  const first = name(scanner);
  if (first === undefined) return undefined;
  const quantifier = seesQuantifier(scanner);
  return quantifier === null ? filter(scanner, first) : embedTest(scanner, first, quantifier);
}

/** `embed-test = name "." ( "any" / "all" / "none" ) group`, whose name has been read. */
function embedTest(
  scanner: Scanner,
  embed: string,
  quantifier: EmbedQuantifier,
): EmbedTest | undefined {
  scanner.position += quantifier.length + 1;
  const children = group(scanner);
  return children && { kind: "embedTest", embed, quantifier, children };
}

const quantifierStart = /\.(any|all|none)(?=[ \t]*\()/y;

function seesQuantifier({ text, position }: Scanner): EmbedQuantifier | null {
  quantifierStart.lastIndex = position;
  return (quantifierStart.exec(text)?.[1] ?? null) as EmbedQuantifier | null;
}

/** `filter = operand "." op-expr`, whose first name has been read. */
function filter(scanner: Scanner, first: string): Filter | undefined {
  const compared = comparedOperand(scanner, first);
  if (compared === undefined || !scanner.take(".", delimiter)) return undefined;
  const read = operatorExpression(scanner, value);
  return read === undefined ? undefined : { kind: "filter", ...compared, ...read };
}

type ComparedOperand = Pick<Filter, "field" | "operand">;

function comparedOperand(scanner: Scanner, first: string): ComparedOperand | undefined {
  if (scanner.sees("(")) {
    const read = first === "count" && scanner.skip("()")
      ? stepped(scanner, null)
      : scanner.attempt((inner) => relatedFrom(inner, first));
    if (read !== undefined) return { field: { name: first, path: [] }, operand: read };
  }
  const field = fieldFrom(scanner, first);
  if (field === undefined || !seesStep(scanner)) return field && { field };
  const read = stepped(scanner, field);
  return read && { field, operand: read };
}

/** Reads the casts and calls behind a field; null stands for `count()`. */
function stepped(scanner: Scanner, field: Field | null): Operand | undefined {
  const read = steps(scanner);
  return read && { kind: "value", value: { field, steps: read } };
}

/** `lvalue = quoted-whole / "{" *( any but braces ) "}" / *( any character but "," and ")" )` */
function value(scanner: Scanner): string {
  return quotedWhole(scanner) ?? arrayLiteral(scanner) ?? bare(scanner);
}

function arrayLiteral(scanner: Scanner): string | undefined {
  const { text, position } = scanner;
  if (!scanner.sees("{")) return undefined;
  let end = position + 1;
  while (end < text.length && text[end] !== "{" && text[end] !== "}") end++;
  if (text[end] !== "}") return undefined;
  scanner.position = end + 1;
  return text.slice(position, end + 1);
}

/** Groups of conditions: the values of `and` and `or`. @module */
import { bare, operatorExpression, quotedWhole } from "./filter_grammar.ts";
import { delimiter, name, seesName } from "./name_grammar.ts";
import type { EmbedQuantifier, EmbedTest, Filter, LogicGroup, LogicTree } from "./query_types.ts";
import type { Scanner } from "./scanner.ts";
import { fieldOrOperand } from "./value_grammar.ts";

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
export function group(scanner: Scanner): readonly LogicTree[] {
  scanner.skipBlanks();
  return scanner.nested("logic", members);
}

function members(scanner: Scanner): readonly LogicTree[] {
  scanner.take("(", openParenthesis);
  const trees: LogicTree[] = [];
  do {
    const read = tree(scanner);
    if (read.kind === "filter") scanner.countPart("conditions");
    trees.push(read);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  scanner.take(")", groupEnd);
  return trees;
}

/** `tree = filter / [ "not." ] ( "and" / "or" ) group`; a filter never begins like a group. */
function tree(scanner: Scanner): LogicTree {
  scanner.skipBlanks();
  const start = scanner.position;
  if (seesGroup(scanner)) return groupTree(scanner);
  if (!seesName(scanner)) return scanner.fail(treeStart);
  const read = scanner.read(filterOrTest);
  if (read !== undefined) return read;
  scanner.position = start;
  if (!seesGroupWord(scanner)) return scanner.fail();
  scanner.forget();
  return groupTree(scanner);
}

function seesGroupWord(scanner: Scanner): boolean {
  return scanner.sees("not.") || scanner.sees("and") || scanner.sees("or");
}

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

function groupTree(scanner: Scanner): LogicGroup {
  const negated = scanner.skip("not.");
  const operator = scanner.takeWord(operators, operatorLabel);
  return { kind: "group", negated, operator, children: group(scanner) };
}

/** `filter / embed-test` */
function filterOrTest(scanner: Scanner): Filter | EmbedTest {
  const first = name(scanner);
  const quantifier = seesQuantifier(scanner);
  if (quantifier === null) return filter(scanner, first);
  scanner.position += quantifier.length + 1;
  return { kind: "embedTest", embed: first, quantifier, children: group(scanner) };
}

/** `embed-test = name "." ( "any" / "all" / "none" ) group` */
const quantifierStart = /\.(any|all|none)(?=[ \t]*\()/y;

function seesQuantifier({ text, position }: Scanner): EmbedQuantifier | null {
  quantifierStart.lastIndex = position;
  return (quantifierStart.exec(text)?.[1] ?? null) as EmbedQuantifier | null;
}

/** `filter = operand "." op-expr`, after its first name. */
function filter(scanner: Scanner, first: string): Filter {
  const compared = fieldOrOperand(scanner, first);
  scanner.take(".", delimiter);
  return { kind: "filter", ...compared, ...operatorExpression(scanner, value) };
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

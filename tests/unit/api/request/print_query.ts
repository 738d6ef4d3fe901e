/** Prints what a query string says as a query string: the other way round of reading one. @module
 */
import type {
  Filter,
  JoinType,
  LogicTree,
  Operation,
  OrderTerm,
  SelectField,
  SelectItem,
} from "../../../../src/api/request/url/query_types.ts";
import type {
  Field,
  Operand,
  Value,
  ValueArgument,
  ValueStep,
} from "../../../../src/api/request/url/value_types.ts";

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Quotes a name unless it is plain. */
export function printName(name: string): string {
  return /^[a-z][a-z0-9_]*$/.test(name) && !/^(?:left|inner|count|and|or|not)/.test(name)
    ? name
    : quote(name);
}

export function printField({ name, path }: Field): string {
  const steps = path.map(({ arrow, operand }) =>
    arrow + (operand.kind === "index" ? operand.index : printName(operand.key))
  );
  return printName(name) + steps.join("");
}

export function printSelect(items: readonly SelectItem[]): string {
  return items.map(printItem).join(",");
}

function printItem(item: SelectItem): string {
  switch (item.kind) {
    case "all":
      return item.only === "selectable" ? "**" : "*";
    case "leftOut":
      return `-${printName(item.column)}`;
    case "field":
      return printSelectField(item);
    case "value":
      return printAlias(item.alias) + printValue(item.value);
    case "relation":
      return printAlias(item.alias) + printEmbed(item);
    case "spread":
      return `...${printEmbed(item)}`;
    default:
      return item satisfies never;
  }
}

function printSelectField(item: SelectField): string {
  return printAlias(item.alias) + printField(item.field) + printCast(item.cast);
}

function printAlias(alias: string | null): string {
  return alias === null ? "" : `${printName(alias)}:`;
}

function printCast(cast: string | null): string {
  return cast === null ? "" : `::${cast}`;
}

function printEmbed(
  { target, hint, join, select }: {
    readonly target: string;
    readonly hint: string | null;
    readonly join: JoinType | null;
    readonly select: readonly SelectItem[];
  },
): string {
  const parameters = (hint === null ? "" : `!${printName(hint)}`) +
    (join === null ? "" : `!${join}`);
  return `${printName(target)}${parameters}(${printSelect(select)})`;
}

export function printValue({ field, steps }: Value): string {
  return (field === null ? "count()" : printField(field)) + steps.map(printStep).join("");
}

function printStep(step: ValueStep): string {
  return step.kind === "cast"
    ? `::${step.type}`
    : `.${step.name}(${step.arguments.map(printArgument).join(",")})`;
}

function printArgument(argument: ValueArgument): string {
  switch (argument.kind) {
    case "number":
      return argument.text;
    case "text":
      return `'${argument.text.replaceAll("'", "''")}'`;
    case "parameter":
      return `@${argument.name}`;
    case "value":
      return printValue(argument.value);
    default:
      return argument satisfies never;
  }
}

export function printOperand(operand: Operand): string {
  return operand.kind === "value"
    ? printValue(operand.value)
    : `${printName(operand.embed)}(${printOperand(operand.operand)})`;
}

/** Prints an operation whose literals are written by `literal`. */
export function printOperation(
  { negated, operation }: Pick<Filter, "negated" | "operation">,
  literal: (text: string) => string,
): string {
  return (negated ? "not." : "") + printPositive(operation, literal);
}

function printPositive(operation: Operation, literal: (text: string) => string): string {
  switch (operation.kind) {
    case "compare": {
      const quantifier = operation.quantifier === null ? "" : `(${operation.quantifier})`;
      return `${operation.operator}${quantifier}.${literal(operation.value)}`;
    }
    case "in":
      return `in.(${operation.values.map(quote).join(",")})`;
    case "is":
      return `is.${operation.word}`;
    case "similar":
      return `${operation.operator}.${literal(operation.value)}`;
    case "isdistinct":
      return `isdistinct.${literal(operation.value)}`;
    case "column":
      return `${operation.operator}(${operation.isExcluded ? "excluded" : "col"}).${
        printOperand(operation.operand)
      }`;
    case "fullText": {
      const language = operation.language === null ? "" : `(${operation.language})`;
      return `${operation.operator}${language}.${literal(operation.value)}`;
    }
    default:
      return operation satisfies never;
  }
}

/** Prints a condition as a member of a group. */
export function printTree(tree: LogicTree): string {
  switch (tree.kind) {
    case "filter":
      return `${printCompared(tree)}.${printOperation(tree, quote)}`;
    case "group":
      return `${tree.negated ? "not." : ""}${tree.operator}${printGroup(tree.children)}`;
    case "embedTest":
      return `${printName(tree.embed)}.${tree.quantifier}${printGroup(tree.children)}`;
    default:
      return tree satisfies never;
  }
}

function printCompared({ field, operand }: Filter): string {
  return operand === undefined ? printField(field) : printOperand(operand);
}

export function printGroup(children: readonly LogicTree[]): string {
  return `(${children.map(printTree).join(",")})`;
}

export function printOrder(terms: readonly OrderTerm[]): string {
  return terms.map(({ relation, field, operand, direction, nulls }) => {
    const place = operand === undefined ? printField(field) : printOperand(operand);
    const isColumn = relation === null || operand !== undefined;
    return (isColumn ? place : `${printName(relation)}(${place})`) +
      (direction === null ? "" : `.${direction}`) + (nulls === null ? "" : `.nulls${nulls}`);
  }).join(",");
}

/**
 * Prints what a query string says as a query string: the other way round of reading one.
 *
 * @module
 */
import type {
  Field,
  Filter,
  JoinType,
  LogicTree,
  Operation,
  OrderTerm,
  SelectField,
  SelectItem,
} from "../../../src/request/query_types.ts";

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
      return "*";
    case "count":
      return `${printAlias(item.alias)}count()${printCast(item.cast)}`;
    case "field":
      return printSelectField(item);
    case "relation":
      return printAlias(item.alias) + printEmbed(item);
    case "spread":
      return `...${printEmbed(item)}`;
    default:
      return item satisfies never;
  }
}

function printSelectField(item: SelectField): string {
  const aggregate = item.aggregate === null ? "" : `.${item.aggregate}()`;
  return printAlias(item.alias) + printField(item.field) + printCast(item.cast) + aggregate +
    printCast(item.aggregateCast);
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
    case "isdistinct":
      return `isdistinct.${literal(operation.value)}`;
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
  return tree.kind === "filter"
    ? `${printField(tree.field)}.${printOperation(tree, quote)}`
    : `${tree.negated ? "not." : ""}${tree.operator}${printGroup(tree.children)}`;
}

export function printGroup(children: readonly LogicTree[]): string {
  return `(${children.map(printTree).join(",")})`;
}

export function printOrder(terms: readonly OrderTerm[]): string {
  return terms.map(({ relation, field, direction, nulls }) => {
    const place = printField(field);
    return (relation === null ? place : `${printName(relation)}(${place})`) +
      (direction === null ? "" : `.${direction}`) + (nulls === null ? "" : `.nulls${nulls}`);
  }).join(",");
}

/** Converts SQL conditions, which Electric's clients send, to filters of the API. @module */
import { liveErrors } from "./live_errors.ts";
import { truncated } from "../../base/errors/quoting.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import type { QueryParam } from "../../api/request/url/query_string.ts";

/** A condition as a parameter, and as a member of a group such as `or`. */
export interface ShapeCondition extends QueryParam {
  readonly member: string;
}

const token =
  /"(?:[^"]|"")+"|'(?:[^']|'')*'|\$\d+|[a-z_\x80-\uffff][\w$\x80-\uffff]*|(?:-\s*)?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|<>|!=|[<>]=|\S/gi;
const operators: ReadonlyMap<string, string> = new Map(Object.entries({
  ...{ "=": "eq", "<>": "neq", "!=": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" },
  ...{ like: "like", ilike: "ilike", in: "in", between: "between", is: "is" },
}));
/** Words that are names of columns only in quotes. */
const keyword = /^(?:and|or|not|in|is|i?like|between|null|true|false|user|current_[dtu]\w+)$/i;
/** Starts of literals, each with the column types for which PostgreSQL compares such a literal like
 * its text. An empty type means that the column's type is unknown. */
const literals = [
  [/^'[^]/, /^/],
  [/^-?\s*\.?\d/, /^(?:|smallint|integer|bigint|numeric|double precision)$/],
  [/^(?:true|false)$/i, /^(?:|boolean)$/],
] as const;
/** Maximum nesting of parentheses and NOT. */
const maxNesting = 50;

/** Parses names and conditions. Throws `186` with the text from the first part that filters do not support. */
export class WhereReader {
  readonly #tokens: readonly RegExpExecArray[];
  #at = 0;
  #nesting = 0;

  /** `params` has the values of `$1` and so on; `types` has the types of columns. */
  constructor(
    readonly text: string,
    readonly params: ReadonlyMap<string, string | null>,
    readonly types: ReadonlyMap<string, string>,
  ) {
    this.#tokens = [...text.matchAll(token)];
  }

  /** `names = name *( separator name )` */
  names(separator: string): readonly string[] {
    return this.#whole(this.#list(separator, () => this.#name()));
  }

  #whole<T>(read: T): T {
    return this.#at === this.#tokens.length ? read : this.#fail();
  }

  #list<T>(separator: string, next: () => T): readonly T[] {
    const read = [next()];
    while (this.#skip(separator)) read.push(next());
    return read;
  }

  /** `any = all *( "OR" all )`, `all = one *( "AND" one )`. Returns conditions that must all hold. */
  any(): readonly ShapeCondition[] {
    const branches = this.#list("or", () => this.#list("and", () => this.#one()).flat());
    const read = branches.length === 1 ? branches[0]! : [group("or", branches.map(joined))];
    return this.#nesting === 0 ? this.#whole(read) : read;
  }

  /** An identifier, in lower case unless quoted. */
  #name(): string {
    const read = this.#token;
    if (!/^(?:".|[a-z_\x80-\uffff])/i.test(read)) this.#fail();
    this.#at++;
    if (read.startsWith('"')) return read.slice(1, -1).replaceAll('""', '"');
    return read.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  }

  /** `one = "NOT" one / "(" any ")" / comparison` */
  #one(): readonly ShapeCondition[] {
    if (++this.#nesting > maxNesting) this.#fail();
    const isNegated = this.#skip("not");
    const isGroup = !isNegated && this.#skip("(");
    const inner = isNegated ? this.#one() : isGroup ? this.any() : this.#comparison();
    if (isGroup) this.#take(")");
    this.#nesting--;
    return isNegated ? [group("not.and", inner)] : inner;
  }

  /** `comparison = name ( operator value / [ "NOT" ] test / "IS" [ "NOT" ] truth )` */
  #comparison(): readonly ShapeCondition[] {
    const start = this.#at;
    const column = keyword.test(this.#token) ? this.#fail() : this.#name();
    const hasNot = this.#skip("not");
    const operator = operators.get(this.#token.toLowerCase());
    if (operator === undefined || hasNot && !/^(?:i?like|in|between)$/.test(operator)) {
      return this.#fail(start);
    }
    this.#at++;
    const isNegated = hasNot || operator === "is" && this.#skip("not");
    const read = this.#tests(operator, () => this.#value(this.types.get(column) ?? ""))
      .map(([name, operand]) => filter(queryName(column), name!, operand!));
    return isNegated ? [group("not.and", read)] : read;
  }

  /** Parses the operands of an operator. Returns filter operators, each with its operand. */
  #tests(operator: string, value: () => string): readonly (readonly string[])[] {
    if (operator === "between") {
      const least = value();
      this.#take("and");
      return [["gte", least], ["lte", value()]];
    }
    if (operator === "in") {
      this.#take("(");
      const values = this.#list(",", value);
      this.#take(")");
      // A list of one value becomes `eq`, because in a filter, a list of one empty text is an empty list.
      return [values.length === 1 ? ["eq", values[0]!] : ["in", `(${values.map(quoted)})`]];
    }
    if (operator === "is") {
      return [["is", ["null", "true", "false"].find((word) => this.#skip(word)) ?? this.#fail()]];
    }
    const operand = value();
    // A pattern with an asterisk is refused, because in a filter, an asterisk means a percent sign.
    if (operator.endsWith("like") && operand.includes("*")) this.#fail(this.#at - 1);
    return [[operator, operand]];
  }

  /** `value = text / [ "-" ] number / "TRUE" / "FALSE" / "$" number` */
  #value(type: string): string {
    const read = this.#token;
    const param = this.params.get(read) ?? null;
    const isLiteral = literals.some(([start, types]) => start.test(read) && types.test(type));
    if (param === null && !isLiteral) this.#fail();
    this.#at++;
    if (!read.startsWith("'")) return param ?? read.replace(/\s/g, "");
    return read.slice(1, -1).replaceAll("''", "'");
  }

  get #token(): string {
    return this.#tokens[this.#at]?.[0] ?? "";
  }

  /** Moves past a word, in any case, or a symbol. */
  #skip(word: string): boolean {
    const isNext = this.#token.toLowerCase() === word;
    this.#at += Number(isNext);
    return isNext;
  }

  #take(word: string): void {
    if (!this.#skip(word)) this.#fail();
  }

  #fail(at = this.#at): never {
    const rest = this.text.slice(this.#tokens[at]?.index ?? this.text.length);
    throw liveErrors.unsupportedShape(
      rest === "" ? "a text that ends here" : `'${truncated(rest, 60)}'`,
    );
  }
}

function filter(name: string, operator: string, operand: string): ShapeCondition {
  const value = /^(?:in|is)$/.test(operator) ? operand : quoted(operand);
  return { name, value: `${operator}.${operand}`, member: `${name}.${operator}.${value}` };
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function joined(all: readonly ShapeCondition[]): ShapeCondition {
  return all.length === 1 ? all[0]! : group("and", all);
}

function group(name: string, all: readonly ShapeCondition[]): ShapeCondition {
  const value = `(${all.map(({ member }) => member).join()})`;
  return { name, value, member: name + value };
}

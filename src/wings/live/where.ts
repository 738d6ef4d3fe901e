/** Conditions of SQL, as Electric's clients send them, as filters of the API. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { truncated } from "../../base/errors/quoting.ts";
import { queryName } from "../../api/request/url/filter_param.ts";

/** A parameter, and the text of the same condition within a group. */
export interface ShapeCondition {
  readonly name: string;
  readonly value: string;
  readonly member: string;
  /** The conditions that it joins by AND. Default: itself. */
  readonly all?: readonly ShapeCondition[];
}

const token =
  /"(?:[^"]|"")+"|'(?:[^']|'')*'|\$\d+|[a-z_\x80-\uffff][\w$\x80-\uffff]*|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|<>|!=|[<>]=|\S/gi;
const operators: Readonly<Record<string, string>> = {
  ...{ "=": "eq", "<>": "neq", "!=": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" },
  ...{ like: "like", ilike: "ilike", in: "in", between: "between", is: "is" },
};
const identifier = /^(?!(?:and|or|not|in|is|i?like|between|null|true|false)$)[a-z_\x80-\uffff]/i;
/** Texts, numbers and truth values. */
const literal = /^(?:'[^]|\.?\d|true$|false$)/i;
/** Most parentheses and NOT around a condition. */
const maxNesting = 50;

/** Reads names and conditions. Throws `186` with the text from the first part that filters do not have. */
export class WhereReader {
  readonly #tokens: readonly RegExpExecArray[];
  #at = 0;
  #nesting = 0;

  constructor(readonly text: string, readonly params: ReadonlyMap<string, string | null>) {
    this.#tokens = [...text.matchAll(token)];
  }

  /** Reads by a production, up to the end of the text. */
  whole<T>(production: () => T): T {
    const read = production();
    return this.#at === this.#tokens.length ? read : this.#fail();
  }

  /** Returns one or more parts with a word or a sign between them. */
  list<T>(separator: string, next: () => T): readonly T[] {
    const read = [next()];
    while (this.#skip(separator)) read.push(next());
    return read;
  }

  /** `any = all *( "OR" all )`, `all = one *( "AND" one )` */
  any(): ShapeCondition {
    return group("or", this.list("or", () => group("and", this.list("and", () => this.#one()))));
  }

  /** An identifier, in lower case unless it has quotes. */
  name(): string {
    if (/^"./.test(this.#token)) return this.#next().slice(1, -1).replaceAll('""', '"');
    if (!identifier.test(this.#token)) this.#fail();
    return this.#next().replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  }

  /** `one = "NOT" one / "(" any ")" / name comparison` */
  #one(): ShapeCondition {
    if (++this.#nesting > maxNesting) this.#fail();
    const isNegated = this.#skip("not");
    const isGroup = !isNegated && this.#skip("(");
    const read = isGroup ? this.any() : isNegated ? group("not.and", [this.#one()]) : null;
    if (isGroup) this.#take(")");
    this.#nesting--;
    return read ?? this.#comparison(queryName(this.name()));
  }

  /** `comparison = operator value / [ "NOT" ] test / "IS" [ "NOT" ] ( "NULL" / "TRUE" / "FALSE" )` */
  #comparison(name: string): ShapeCondition {
    const isNegated = this.#skip("not");
    const word = this.#token.toLowerCase();
    const operator = Object.hasOwn(operators, word) ? operators[word] : undefined;
    if (operator === undefined || isNegated && !/^(?:i?like|in|between)$/.test(operator)) {
      return this.#fail(word === "(" || word === "." ? -1 : 0);
    }
    this.#at++;
    const isNot = operator === "is" && this.#skip("not");
    const read = this.#test(name, operator);
    return isNegated || isNot ? group("not.and", [read]) : read;
  }

  /** Reads the operands of an operator. */
  #test(name: string, operator: string): ShapeCondition {
    if (operator === "between") {
      const from = filter(name, "gte", this.#value());
      this.#take("and");
      return group("and", [from, filter(name, "lte", this.#value())]);
    }
    if (operator === "in") {
      this.#take("(");
      const values = this.list(",", () => this.#value());
      this.#take(")");
      // In a filter, a list of one empty text is an empty list.
      if (values.length === 1) return filter(name, "eq", values[0]!);
      const value = `in.(${values.map(quoted).join()})`;
      return { name, value, member: `${name}.${value}` };
    }
    if (operator === "is" && !/^(?:null|true|false)$/i.test(this.#token)) this.#fail();
    const operand = operator === "is" ? this.#next().toLowerCase() : this.#value();
    // In a filter, an asterisk of a pattern is a percent sign.
    if (operator.endsWith("like") && operand.includes("*")) this.#fail(-1);
    return filter(name, operator, operand);
  }

  /** `value = text / [ "-" ] number / "TRUE" / "FALSE" / "$" number` */
  #value(): string {
    const sign = this.#skip("-") ? "-" : "";
    const param = sign === "" ? this.params.get(this.#token) ?? null : null;
    if (param === null && !(sign === "" ? literal : /^\.?\d/).test(this.#token)) this.#fail();
    const read = this.#next();
    if (param !== null) return param;
    return sign + read.replace(/^'(.*)'$/s, (_, text) => text.replaceAll("''", "'"));
  }

  get #token(): string {
    return this.#tokens[this.#at]?.[0] ?? "";
  }

  #next(): string {
    return this.#tokens[this.#at++]![0];
  }

  /** Moves past a word, in any case, or a sign. */
  #skip(word: string): boolean {
    const isNext = this.#token.toLowerCase() === word;
    this.#at += Number(isNext);
    return isNext;
  }

  #take(word: string): void {
    if (!this.#skip(word)) this.#fail();
  }

  #fail(offset = 0): never {
    const rest = this.text.slice(this.#tokens[this.#at + offset]?.index ?? this.text.length);
    throw errors.unsupportedShape(
      rest === "" ? "a text that ends here" : `'${truncated(rest, 60)}'`,
    );
  }
}

function filter(name: string, operator: string, operand: string): ShapeCondition {
  const value = operator === "is" ? operand : quoted(operand);
  return { name, value: `${operator}.${operand}`, member: `${name}.${operator}.${value}` };
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function group(name: "and" | "or" | "not.and", all: readonly ShapeCondition[]): ShapeCondition {
  if (all.length === 1 && name !== "not.and") return all[0]!;
  const value = `(${all.map(({ member }) => member).join()})`;
  return { name, value, member: name + value, ...name === "and" && { all } };
}

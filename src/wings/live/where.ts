/** Conditions of SQL, as Electric's clients send them, as filters of the API. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { truncated } from "../../base/errors/quoting.ts";
import { queryName } from "../../api/request/url/filter_param.ts";

export interface ShapeCondition {
  /** As a parameter. */
  readonly name: string;
  readonly value: string;
  /** Within a group. */
  readonly member: string;
  /** The conditions that it joins by AND. Default: itself. */
  readonly all?: readonly ShapeCondition[];
}

const token =
  /"(?:[^"]|"")+"|'(?:[^']|'')*'|\$\d+|[a-z_\x80-\uffff][\w$\x80-\uffff]*|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|<>|!=|[<>]=|\S/gi;
const operators: Readonly<Record<string, string>> = {
  ...{ "=": "eq", "<>": "neq", "!=": "neq", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" },
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

  /** `names = name *( separator name )` */
  names(separator: string): readonly string[] {
    const names = [this.#name()];
    while (this.#skip(separator)) names.push(this.#name());
    return names;
  }

  /** `any = all *( "OR" all )`, `all = one *( "AND" one )` */
  any(): ShapeCondition {
    return this.#list("or", () => this.#list("and", () => this.#one()));
  }

  #list(word: "and" | "or", next: () => ShapeCondition): ShapeCondition {
    const read = [next()];
    while (this.#skip(word)) read.push(next());
    return read.length === 1 ? read[0]! : group(word, read);
  }

  /** `one = "NOT" one / "(" any ")" / name comparison` */
  #one(): ShapeCondition {
    if (++this.#nesting > maxNesting) this.#fail();
    const isNegated = this.#skip("not");
    const isGroup = !isNegated && this.#skip("(");
    const read = isGroup ? this.any() : isNegated ? group("not.and", [this.#one()]) : null;
    if (isGroup) this.#take(")");
    this.#nesting--;
    return read ?? this.#comparison(queryName(this.#name()));
  }

  /** `comparison = operator value / [ "NOT" ] test / "IS" [ "NOT" ] ( "NULL" / "TRUE" / "FALSE" )` */
  #comparison(name: string): ShapeCondition {
    if (this.#token === "(" || this.#token === ".") this.#fail(-1);
    const operator = Object.hasOwn(operators, this.#token) ? operators[this.#next()] : undefined;
    if (operator !== undefined) return filter(name, operator, this.#value());
    const isTest = !this.#skip("is");
    const isNegated = this.#skip("not");
    const isWord = /^(?:null|true|false)$/i.test(this.#token);
    const read = isTest
      ? this.#test(name)
      : isWord
      ? filter(name, "is", this.#next().toLowerCase())
      : this.#fail();
    return isNegated ? group("not.and", [read]) : read;
  }

  /** `test = "BETWEEN" value "AND" value / ( "LIKE" / "ILIKE" ) value / "IN" "(" value *( "," value ) ")"` */
  #test(name: string): ShapeCondition {
    if (this.#skip("between")) {
      const from = filter(name, "gte", this.#value());
      this.#take("and");
      return group("and", [from, filter(name, "lte", this.#value())]);
    }
    if (/^i?like$/i.test(this.#token)) {
      const pattern = filter(name, this.#next().toLowerCase(), this.#value());
      // A filter reads an asterisk as a percent sign.
      return pattern.value.includes("*") ? this.#fail(-1) : pattern;
    }
    this.#take("in");
    this.#take("(");
    const values = [this.#value()];
    while (this.#skip(",")) values.push(this.#value());
    this.#take(")");
    // In a filter, a list of one empty text is an empty list.
    if (values.length === 1) return filter(name, "eq", values[0]!);
    const value = `in.(${values.map(quoted).join()})`;
    return { name, value, member: `${name}.${value}` };
  }

  /** An identifier, in lower case unless it has quotes. */
  #name(): string {
    if (/^"./.test(this.#token)) return this.#next().slice(1, -1).replaceAll('""', '"');
    if (!identifier.test(this.#token)) this.#fail();
    return this.#next().replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
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
  const value = `(${all.map(({ member }) => member).join()})`;
  return { name, value, member: name + value, ...name === "and" && { all } };
}

/** Finds the operation of a request: by its form, then by its limits, literal values and body. @module */
import type { Config } from "../../state/config/options.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { getOrMake } from "../../base/lib/group_by.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import { levelKey, levelOf } from "../../api/request/url/name_grammar.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { bodyDifference, needsText } from "./body_pattern.ts";
import { type Form, type FormContext, formOf, type FormOperand, type LevelBounds } from "./form.ts";
import type { OperationLine } from "./operation_file.ts";

/** The values that an operation allows in one place. */
interface OperandRule {
  /** Index among the operands of the form. */
  readonly at: number;
  /** The only values; null for any. */
  readonly literals: readonly string[] | null;
  /** Most values of a list. */
  readonly maxValues: number;
}

/** An operation that is ready to be compared. */
export interface OperationRule {
  readonly operation: OperationLine;
  readonly form: Form;
  readonly operands: readonly OperandRule[];
  /** Levels whose limit or offset is literal, by their keys: `limit 5`. */
  readonly exact: ReadonlySet<string>;
}

/** A request whose head is to be matched. */
export interface MatchedHead {
  readonly role: string;
  readonly form: Form;
}

/** The operations of a snapshot, by role and form. */
export class OperationIndex {
  readonly rules: readonly OperationRule[];
  /** Operations that no request can have, with the reason. */
  readonly invalid: readonly { readonly operation: OperationLine; readonly problem: string }[];
  /** Keys of forms whose operations restrict values. */
  readonly valueKeys: ReadonlySet<string>;
  readonly #byRole = new Map<string, Map<string, OperationRule[]>>();

  constructor(operations: readonly OperationLine[], config: Config, context: FormContext) {
    const rules: OperationRule[] = [];
    const invalid: { operation: OperationLine; problem: string }[] = [];
    for (const operation of operations) {
      try {
        rules.push(ruleOf(operation, config, context));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        invalid.push({ operation, problem: error.fields.message });
      }
    }
    this.rules = rules;
    this.invalid = invalid;
    this.valueKeys = new Set(
      rules.flatMap(({ form, operands }) => operands.length > 0 ? [form.key] : []),
    );
    for (const rule of rules) {
      for (const role of rule.operation.roles) {
        const byKey = getOrMake(this.#byRole, role, () => new Map<string, OperationRule[]>());
        getOrMake(byKey, rule.form.key, () => []).push(rule);
      }
    }
  }

  /** Returns the operations that have the form of a request, its limits and its values. */
  find({ role, form }: MatchedHead): readonly OperationRule[] {
    const rules = this.#byRole.get(role)?.get(form.key);
    return rules === undefined ? noRules : rules.filter((rule) => allows(rule, form));
  }

  /** Returns the operations of a role. */
  of(role: string): readonly OperationRule[] {
    return [...this.#byRole.get(role)?.values() ?? []].flat();
  }
}

const noRules: readonly OperationRule[] = [];

/** Returns the rule of the operation that allows a body, or null. */
export function withBody(rules: readonly OperationRule[], payload: Payload): OperationRule | null {
  return rules.find(({ operation }) => bodyDifference(operation.body, payload) === null) ?? null;
}

/** Whether one of the rules needs the text of a body. */
export function needText(rules: readonly OperationRule[]): boolean {
  return rules.some(({ operation: { body } }) => body !== null && needsText(body));
}

/** Whether a rule with the key of a form permits its limits and values. */
export function allows({ form, operands, exact }: OperationRule, other: Form): boolean {
  for (const [level, rows] of other.levels) {
    if (!allowsRows(form.levels.get(level), rows, (part) => exact.has(`${part} ${level}`))) {
      return false;
    }
  }
  return operands.every((rule) => allowsOperand(rule, other.operands[rule.at]));
}

/** A level that an operation leaves out has no limit and begins at the first row. */
function allowsRows(
  { limit, offset }: LevelBounds = { limit: null, offset: 0n },
  rows: LevelBounds,
  isExact: (part: "limit" | "offset") => boolean,
): boolean {
  const isWithin = (value: bigint, max: bigint, part: "limit" | "offset") =>
    value === max || value >= 0n && value < max && !isExact(part);
  const hasLimit = rows.limit === null
    ? limit === null
    : limit !== null && isWithin(rows.limit, limit, "limit");
  return hasLimit && isWithin(rows.offset, offset, "offset");
}

function allowsOperand(
  { literals, maxValues }: OperandRule,
  operand: FormOperand | undefined,
): boolean {
  if (operand === undefined || operand.values.length > maxValues) return false;
  return literals === null || literals.length === operand.values.length &&
      literals.every((literal, at) => literal === anyValue || literal === operand.values[at]);
}

const anyValue = "*";

/** Returns the rule of an operation. Throws a `ServiceError` for one that cannot be parsed. */
export function ruleOf(
  operation: OperationLine,
  config: Config,
  context: FormContext,
): OperationRule {
  const { request } = parseHead(rawRequestOf(operation), config);
  const form = formOf(request, context);
  return {
    operation,
    form,
    operands: form.operands.flatMap((operand, at) => operandRule(operand, at) ?? []),
    exact: exactLevels(operation),
  };
}

/** Returns the request of an operation, with bounds as limits. */
export function rawRequestOf({ method, path, query, headers }: OperationLine): RawRequest {
  const bounded = query.replaceAll(boundMark, "$1");
  const raw = { path, query: bounded, headers, cookies: {} };
  if (method !== "QUERY") return { ...raw, method };
  return { ...raw, method, received: { method, path, query: bounded, form: "method" } };
}

/** `..` before a number of `limit` and `offset`. */
const boundMark = /((?:^|[&;.])(?:limit|offset)=)\.\.(?=\d+(?:[&;]|$))/g;

function exactLevels({ query }: OperationLine): ReadonlySet<string> {
  return new Set(
    splitQuery(query).flatMap(({ name, value }) => {
      const [part] = /(?:^|(?<=\.))(?:limit|offset)$/.exec(name) ?? [];
      return part === undefined || value?.startsWith("..")
        ? []
        : [`${part} ${levelKey(levelOf(name))}`];
    }),
  );
}

/** Returns null where any value is allowed. */
function operandRule({ isList, values }: FormOperand, at: number): OperandRule | null {
  const [first = ""] = values;
  const list = isList && values.length === 1 ? /^\*(?:\.\.(\d{1,9}))?$/.exec(first) : null;
  if (list !== null) {
    return list[1] === undefined ? null : { at, literals: null, maxValues: Number(list[1]) };
  }
  if (!isList && first === anyValue) return null;
  return { at, literals: values, maxValues: Infinity };
}

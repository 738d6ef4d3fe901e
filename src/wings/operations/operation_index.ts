/** Finds the operation of a request by its form, limits and literal values. @module */
import { ServiceError } from "../../base/errors/service_error.ts";
import { groupBy } from "../../base/lib/group_by.ts";
import { parseHead, type RequestConfig } from "../../api/request/parse_request.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { needsText } from "./body_pattern.ts";
import { type Form, formOf, type FormOperand } from "./form.ts";
import type { OperationLine } from "./operation_file.ts";

/** An operation, prepared for comparisons with requests. */
export interface OperationRule {
  readonly line: OperationLine;
  readonly form: Form;
  /** Whether the body must be parsed, because the names of its outermost members are not sufficient. */
  readonly needsText: boolean;
}

/** Operations by the key of their form. */
export type OperationIndex = ReadonlyMap<string, readonly OperationRule[]>;

/** Indexes operations by form. Leaves out operations that cannot be parsed. */
export function indexOperations(
  lines: readonly OperationLine[],
  snapshot: Snapshot,
): OperationIndex {
  const rules = lines.flatMap((line) => {
    try {
      return [ruleOf(line, snapshot)];
    } catch (error) {
      if (error instanceof ServiceError) return [];
      throw error;
    }
  });
  return groupBy(rules, ({ form }) => form.key);
}

/** Returns the rule of an operation. Throws a `ServiceError` if it cannot be parsed. */
export function ruleOf(line: OperationLine, snapshot: Snapshot): OperationRule {
  const { request } = parseLine(line, snapshot.config);
  const form = formOf(request, snapshot);
  // With `columns`, the body is parsed: PostgreSQL reads the members, and svc does not know their names yet.
  const isWhole = needsText(line.body) || request.query.columns !== null;
  return { line, form, needsText: isWhole };
}

/** Returns `limit` or `offset` if the name of a parameter ends in this word; otherwise null. */
export function rowsPart(name: string): string | null {
  return /(?:^|\.)(limit|offset)$/.exec(name)?.[1] ?? null;
}

/** Parses the request of an operation. Bounds such as `limit=..10` become limits. */
export function parseLine(
  { method, path, query: written, headers }: OperationLine,
  config: RequestConfig,
): ReturnType<typeof parseHead> {
  const query = written.replaceAll(/((?:^|[&;.])(?:limit|offset)=)\.\.(?=\d+(?:[&;]|$))/g, "$1");
  const received = { method, path, query, form: "method" } as const;
  const raw = { method, path, query, headers, cookies: {} };
  return parseHead(method === "QUERY" ? { ...raw, received } : raw, config);
}

/** Returns whether a rule with the same form permits the limits and values of a request. */
export function allows({ form: { operands, rows } }: OperationRule, sent: Form): boolean {
  for (const name of new Set([...rows.keys(), ...sent.rows.keys()])) {
    const [max = 0n, value = 0n] = [rows.get(name), sent.rows.get(name)];
    if (value < 0n || value > max) return false;
  }
  return operands.every((operand, at) => allowsValues(operand, sent.operands[at]!));
}

const anyValue = "*";

function allowsValues({ isList, values }: FormOperand, sent: FormOperand): boolean {
  const list = isList && values.length === 1 ? /^\*(?:\.\.(\d{1,9}))?$/.exec(values[0]!) : null;
  if (list !== null) return sent.values.length <= Number(list[1] ?? Infinity);
  return values.length === sent.values.length &&
    values.every((value, at) => value === anyValue || value === sent.values[at]);
}

/** Returns whether a rule permits only certain values. */
export function hasLiterals({ form: { operands } }: OperationRule): boolean {
  return operands.some(({ values: [first, ...others] }) => first !== anyValue || others.length > 0);
}

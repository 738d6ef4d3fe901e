/** Names the operation that is nearest to a refused request, and the first difference. @module */
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import { bodyDifference } from "./body_pattern.ts";
import { contentTypeText } from "./form.ts";
import type { UnnamedOperation } from "./mask.ts";
import type { OperationRule } from "./matcher.ts";
import type { OperationLine } from "./operation_file.ts";

/** The operation of a request, and its query string with values. */
interface SentOperation extends UnnamedOperation {
  readonly values: string;
}

/** Returns a sentence; null if no operation of the role has the path. */
export function nearestText(
  sent: SentOperation,
  rules: readonly OperationRule[],
  payload: Payload | null,
): string | null {
  const found = rules.filter(({ operation }) => decoded(operation.path) === decoded(sent.path)).map(
    ({ operation }) => ({ operation, differences: differencesOf(operation, sent, payload) }),
  ).sort((one, other) => one.differences.length - other.differences.length)[0];
  if (found === undefined) return null;
  const { operation: { name }, differences: [first = "values or limits differ"] } = found;
  return `The nearest operation is ${name}: ${first}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function differencesOf(
  operation: OperationLine,
  sent: SentOperation,
  payload: Payload | null,
): readonly string[] {
  const differences: string[] = [];
  const compare = (what: string, expected: string | undefined, actual: string | undefined) => {
    if (expected === actual) return;
    differences.push(`${what} is ${actual ?? "absent"} instead of ${expected ?? "absent"}`);
  };
  compare("the method", operation.method, sent.method);
  const [expected, actual, values] = [operation.query, sent.query, sent.values].map(paramsOf);
  for (const name of new Set([...expected!.keys(), ...actual!.keys()])) {
    const [one, other] = [expected!.get(name), actual!.get(name)];
    if (!allows(one, other, values!.get(name))) {
      differences.push(`${name} is ${other ?? "absent"} instead of ${one ?? "absent"}`);
    }
  }
  for (const name of new Set([...Object.keys(operation.headers), ...Object.keys(sent.headers)])) {
    compare(name, canonical(name, operation.headers[name]), canonical(name, sent.headers[name]));
  }
  const ofBody = payload === null ? null : bodyDifference(operation.body, payload);
  return ofBody === null ? differences : [...differences, ofBody];
}

function paramsOf(query: string): ReadonlyMap<string, string> {
  const values = new Map<string, string[]>();
  for (const { name, value } of splitQuery(query)) {
    values.set(name, [...values.get(name) ?? [], value?.replaceAll(/\s+/g, "") ?? ""]);
  }
  return new Map(Array.from(values, ([name, texts]) => [name, texts.sort().join(" and ")]));
}

/** Whether a parameter of an operation allows the values of a request, which are also given masked. */
function allows(expected = "", masked = "", values = ""): boolean {
  const max = /^\.\.(\d{1,15})$/.exec(expected)?.[1];
  if (max !== undefined) {
    return Number(/^(?:\.\.)?(\d+)$/.exec(masked || "0")?.[1] ?? NaN) <= Number(max);
  }
  const parts = expected.split(/\*(?:\.\.\d+)?/).map((part) => part.replaceAll(/[^\w ]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`).test(values);
}

function canonical(name: string, value: string | undefined): string | undefined {
  return name === "content-type" && value !== undefined ? contentTypeText(value) : value;
}

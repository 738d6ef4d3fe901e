/** Names the operation that is nearest to a refused request, and the first difference. @module */
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import { bodyDifference } from "./body_pattern.ts";
import type { OperationLine } from "./operation_file.ts";

/** A refused request, its query string with values, and its body. */
interface RefusedRequest {
  readonly line: OperationLine;
  readonly query: string;
  readonly payload: Payload | null;
}

/** Returns a sentence about operations with the path of the request. */
export function nearestText(request: RefusedRequest, lines: readonly OperationLine[]): string {
  const [nearest] = lines
    .map((line) => ({ line, differences: differencesOf(line, request) }))
    .sort((one, other) => one.differences.length - other.differences.length);
  if (nearest === undefined) return "No operation has this path";
  const { line: { name }, differences: [first = "values differ"] } = nearest;
  return `The nearest operation is ${name}: ${first}`;
}

function differencesOf(
  expected: OperationLine,
  { line, query, payload }: RefusedRequest,
): readonly string[] {
  const [parts, masked, sent] = [expected, line, { ...line, query }].map(partsOf);
  const names = [...new Set([...parts!.keys(), ...masked!.keys()])];
  const differences = names.flatMap((name) => {
    const [one, other] = [parts!.get(name), masked!.get(name)];
    const isSame = one === other || one === sent!.get(name) || isWithin(one, other);
    return isSame ? [] : [`${name} is ${other ?? "absent"} instead of ${one ?? "absent"}`];
  });
  const ofBody = payload === null ? null : bodyDifference(expected.body, payload);
  return ofBody === null ? differences : [...differences, ofBody];
}

/** Returns the parts of an operation by their names. */
function partsOf({ method, query, headers }: OperationLine): ReadonlyMap<string, string> {
  const parts = new Map([["the method", method], ...Object.entries(headers)]);
  for (const { name, value } of splitQuery(query)) {
    const others = parts.has(name) ? `${parts.get(name)} and ` : "";
    parts.set(name, others + (value?.replaceAll(/\s+/g, "") ?? ""));
  }
  return parts;
}

/** Whether a bound permits the bound of a request; an absent offset is 0. */
function isWithin(max: string | undefined, sent = "..0"): boolean {
  return max?.startsWith("..") === true && Number(sent.slice(2)) <= Number(max.slice(2));
}

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
    .map(({ name, ...line }) => ({ name, differences: differencesOf(line, request) }))
    .sort((one, other) => one.differences.length - other.differences.length);
  if (nearest === undefined) return "No operation has this path";
  const { name, differences: [first = "values differ"] } = nearest;
  return `The nearest operation is ${name}: ${first}`;
}

function differencesOf(
  { method, query, headers, body }: Omit<OperationLine, "name">,
  { line, query: values, payload }: RefusedRequest,
): readonly string[] {
  const [expected, masked, sent] = [query, line.query, values].map(paramsOf);
  const pairs = [
    ["the method", method, line.method],
    ...namesOf(expected!, masked!).filter((name) =>
      expected!.get(name) !== sent!.get(name) && !isWithin(expected!.get(name), masked!.get(name))
    ).map((name) => [name, expected!.get(name), masked!.get(name)]),
    ...namesOf(new Map(Object.entries(headers)), new Map(Object.entries(line.headers)))
      .map((name) => [name, headers[name], line.headers[name]]),
  ];
  const differences = pairs.filter(([, one, other]) => one !== other).map(([name, one, other]) =>
    `${name} is ${other ?? "absent"} instead of ${one ?? "absent"}`
  );
  const ofBody = payload === null ? null : bodyDifference(body, payload);
  return ofBody === null ? differences : [...differences, ofBody];
}

function namesOf(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) {
  return [...new Set([...one.keys(), ...other.keys()])];
}

/** Returns the parameters by their names. */
function paramsOf(query: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const { name, value } of splitQuery(query)) {
    const others = values.get(name);
    const text = value?.replaceAll(/\s+/g, "") ?? "";
    values.set(name, others === undefined ? text : `${others} and ${text}`);
  }
  return values;
}

/** Whether a bound permits the bound of a request; an absent offset is 0. */
function isWithin(max: string | undefined, sent = "..0"): boolean {
  return max?.startsWith("..") === true && Number(sent.slice(2)) <= Number(max.slice(2));
}

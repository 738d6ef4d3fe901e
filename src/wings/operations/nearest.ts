/** Finds the operation that is most similar to a rejected request. @module */
import { commonStart } from "../../api/request/url/scanner.ts";
import { type OperationLine, operationText } from "./operation_file.ts";

/** Names the operation with the longest common start, and its first difference from the request. */
export function nearestText(request: OperationLine, lines: readonly OperationLine[]): string {
  const sent = requestText(request);
  const [nearest] = lines.map((line) => {
    const text = requestText(line);
    return { line, text, at: commonStart(sent, text) };
  }).sort((one, other) => other.at - one.at);
  if (nearest === undefined) return "No operation has this path";
  const { line: { name }, text, at } = nearest;
  // Names the parameter that contains the first difference, and what follows it.
  const start = sent.slice(0, at).search(/[^?&]*$/);
  const [actual, expected] = [sent, text].map((each) => each.slice(start) || "nothing");
  return `The nearest operation is ${name}: ${actual} instead of ${expected}`;
}

/** Returns the line of an operation without its name and roles. */
function requestText(line: OperationLine): string {
  return operationText({ ...line, name: "", roles: [] }).trim().replaceAll(/\s+/g, " ");
}

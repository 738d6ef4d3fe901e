/** The legacy path syntax of `jwt-role-claim-key`, which JSONPath replaced. @module */
import { isJsonObject } from "../../base/lib/json_object.ts";

/** One step of a path, to a member or element of a value. */
export type RolePathStep =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "filter"; readonly operator: RoleComparison; readonly expected: string };

/** How a filter compares an element with the expected text. */
const comparisons = {
  "==": (text: string, expected: string) => text === expected,
  "!=": (text: string, expected: string) => text !== expected,
  "^==": (text: string, expected: string) => text.startsWith(expected),
  "==^": (text: string, expected: string) => text.endsWith(expected),
  "*==": (text: string, expected: string) => text.includes(expected),
} as const;

type RoleComparison = keyof typeof comparisons;

/**
 * `Step = "." 1*NameCharacter / "." Quoted / "[" 1*DIGIT "]" / "[?(@" *SP Operator *SP Quoted ")]"`
 *
 * A quoted text contains any character except a double quote.
 */
const stepPattern =
  /\.([A-Za-z0-9_$@]+)|\."([^"]*)"|\[([0-9]{1,9})\]|\[\?\(@ *(==\^|\^==|\*==|==|!=) *"([^"]*)" *\)\]/gy;

/**
 * Parses `Path = 1*Step`, in which only the last step may be a filter: `.a.b[1]`,
 * `."https://x/role"[0].value`, `.roles[?(@ ^== "cl")]`. Returns null for any other text.
 */
export function parseLegacyPath(text: string): readonly RolePathStep[] | null {
  const matches = [...text.matchAll(stepPattern)];
  const length = matches.reduce((sum, [whole]) => sum + whole.length, 0);
  const steps = matches.map(toStep);
  const filterInside = steps.slice(0, -1).some(({ kind }) => kind === "filter");
  return steps.length === 0 || length !== text.length || filterInside ? null : steps;
}

/** Writes steps as a path: `."a"."b"[1]`. */
export function formatSteps(steps: readonly RolePathStep[]): string {
  return steps.map((part) => {
    switch (part.kind) {
      case "name":
        return `."${part.name}"`;
      case "index":
        return `[${part.index}]`;
      case "filter":
        return `[?(@ ${part.operator} "${part.expected}")]`;
      default:
        return part satisfies never;
    }
  }).join("");
}

/** Follows the steps from a value. Returns undefined if a step does not match the value. */
export function followSteps(value: unknown, steps: readonly RolePathStep[]): unknown {
  let current = value;
  for (const part of steps) current = follow(current, part);
  return current;
}

function follow(value: unknown, part: RolePathStep): unknown {
  switch (part.kind) {
    case "name":
      return isJsonObject(value) && Object.hasOwn(value, part.name) ? value[part.name] : undefined;
    case "index":
      return Array.isArray(value) ? value[part.index] : undefined;
    case "filter":
      return Array.isArray(value)
        ? value.find((item) => isText(item) && comparisons[part.operator](item, part.expected))
        : undefined;
    default:
      return part satisfies never;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function toStep(match: RegExpExecArray): RolePathStep {
  const [, bareName, quotedName, index, operator, expected] = match;
  if (index !== undefined) return { kind: "index", index: Number(index) };
  return operator !== undefined && expected !== undefined
    ? { kind: "filter", operator: operator as RoleComparison, expected }
    : { kind: "name", name: bareName ?? quotedName ?? "" };
}

/**
 * The path syntax of `jwt-role-claim-key` before it became JSONPath.
 *
 * @module
 */

/** One step from a value to a value inside it. */
export type PathStep =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "filter"; readonly operator: Operator; readonly wanted: string };

/** How a filter compares an element with the wanted text. */
const comparisons = {
  "==": (text: string, wanted: string) => text === wanted,
  "!=": (text: string, wanted: string) => text !== wanted,
  "^==": (text: string, wanted: string) => text.startsWith(wanted),
  "==^": (text: string, wanted: string) => text.endsWith(wanted),
  "*==": (text: string, wanted: string) => text.includes(wanted),
} as const;

type Operator = keyof typeof comparisons;

/**
 * `Step = "." 1*NameCharacter / "." Quoted / "[" 1*DIGIT "]" / "[?(@" *SP Operator *SP Quoted ")]"`
 *
 * where a quoted text is anything but a double quote between two of them.
 */
const stepPattern =
  /\.([A-Za-z0-9_$@]+)|\."([^"]*)"|\[([0-9]{1,9})\]|\[\?\(@ *(==\^|\^==|\*==|==|!=) *"([^"]*)" *\)\]/gy;

/**
 * Parses `Path = 1*Step`, in which only the last step may be a filter: `.a.b[1]`,
 * `."https://x/role"[0].value`, `.roles[?(@ ^== "cl")]`. `null` for anything else.
 */
export function parseOldPath(text: string): readonly PathStep[] | null {
  const matches = [...text.matchAll(stepPattern)];
  const length = matches.reduce((sum, [whole]) => sum + whole.length, 0);
  const steps = matches.map(toStep);
  const filterInside = steps.slice(0, -1).some(({ kind }) => kind === "filter");
  return steps.length === 0 || length !== text.length || filterInside ? null : steps;
}

/** Writes steps as a path: `."a"."b"[1]`. */
export function formatSteps(steps: readonly PathStep[]): string {
  return steps.map((part) => {
    switch (part.kind) {
      case "name":
        return `."${part.name}"`;
      case "index":
        return `[${part.index}]`;
      case "filter":
        return `[?(@ ${part.operator} "${part.wanted}")]`;
      default:
        return part satisfies never;
    }
  }).join("");
}

/** Follows the steps from a value, `undefined` when the value is not shaped like that. */
export function findBySteps(value: unknown, steps: readonly PathStep[]): unknown {
  let found = value;
  for (const part of steps) found = follow(found, part);
  return found;
}

function follow(value: unknown, part: PathStep): unknown {
  switch (part.kind) {
    case "name":
      return isRecord(value) && Object.hasOwn(value, part.name) ? value[part.name] : undefined;
    case "index":
      return Array.isArray(value) ? value[part.index] : undefined;
    case "filter":
      return Array.isArray(value)
        ? value.find((item) => isText(item) && comparisons[part.operator](item, part.wanted))
        : undefined;
    default:
      return part satisfies never;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toStep(match: RegExpExecArray): PathStep {
  const [, bareName, quotedName, index, operator, wanted] = match;
  if (index !== undefined) return { kind: "index", index: Number(index) };
  return operator !== undefined && wanted !== undefined
    ? { kind: "filter", operator: operator as Operator, wanted }
    : { kind: "name", name: bareName ?? quotedName ?? "" };
}

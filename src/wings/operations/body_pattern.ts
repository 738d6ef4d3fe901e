/** The members that the body of an operation has: `{note, status="open", lines[]{product_id}, text?}`.
 * @module */
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { textOf } from "../../api/request/body/utf8.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { isJsonObject } from "../../base/lib/json_object.ts";

export type BodyPattern =
  /** An object, or a list of objects. */
  | {
    readonly kind: "members";
    readonly isList: boolean;
    readonly members: readonly BodyMember[];
  }
  /** One value: the single unnamed parameter of a function. */
  | { readonly kind: "value" }
  /** A patch document: the JSON of its operations, without their values. */
  | { readonly kind: "patch"; readonly steps: string };

export interface BodyMember {
  readonly name: string;
  readonly isOptional: boolean;
  /** JSON text of the only value; null for any value. */
  readonly literal: string | null;
  /** Members of the object, or of the objects of the list; null for any value. */
  readonly inner: { readonly isList: boolean; readonly members: readonly BodyMember[] } | null;
}

/** Whether a pattern describes more than the names of the outermost members. */
export function needsText(pattern: BodyPattern): boolean {
  return pattern.kind === "members" &&
    pattern.members.some(({ literal, inner }) => literal !== null || inner !== null);
}

/** Returns the text of a pattern in the file. */
export function bodyText(pattern: BodyPattern): string {
  switch (pattern.kind) {
    case "members":
      return (pattern.isList ? "[]" : "") + membersText(pattern.members);
    case "value":
      return "*";
    case "patch":
      return pattern.steps;
    default:
      return pattern satisfies never;
  }
}

function membersText(members: readonly BodyMember[]): string {
  const texts = members.map(({ name, isOptional, literal, inner }) => {
    const plain = /^[^\s,{}[\]?=:"#]+$/.test(name) ? name : JSON.stringify(name);
    const nested = inner === null ? "" : `${inner.isList ? "[]" : ""}${membersText(inner.members)}`;
    return `${plain}${nested}${isOptional ? "?" : ""}${literal === null ? "" : `=${literal}`}`;
  });
  return `{${texts.join(", ")}}`;
}

/** Returns the first difference between a body and its pattern, or null. */
export function bodyDifference(pattern: BodyPattern | null, payload: Payload): string | null {
  switch (payload.kind) {
    case "raw":
      return pattern?.kind === "value" ? null : "the body is one value";
    case "patch":
      return pattern?.kind === "patch" && pattern.steps === patchSteps(payload)
        ? null
        : "the patch document has other operations";
    case "form":
      return membersDifference(pattern, [formRow(payload.fields)]);
    case "json":
      if (pattern?.kind === "value") return null;
      if ((payload.shape === "array") !== (pattern?.kind === "members" && pattern.isList)) {
        return payload.shape === "array" ? "the body is a list" : "the body is no list";
      }
      return jsonDifference(pattern, payload);
    default:
      return payload satisfies never;
  }
}

/** Returns the structure of a patch document. */
export function patchSteps({ document }: Extract<Payload, { kind: "patch" }>): string {
  return JSON.stringify(document.operations);
}

/** Of fields with one name, the last one applies. */
function formRow(fields: readonly (readonly [string, string])[]): Record<string, unknown> {
  return Object.fromEntries(fields);
}

type JsonBody = Extract<Payload, { kind: "json" }>;

function jsonDifference(pattern: BodyPattern | null, payload: JsonBody): string | null {
  const { keys, moreKeys, keysVary, pieces, value } = payload;
  if (moreKeys > 0) return "the body has too many members";
  const isFlat = pattern === null || !needsText(pattern);
  if (keys !== null && isFlat && value === undefined && keysVary !== true) {
    return membersDifference(pattern, [Object.fromEntries(keys.map((key) => [key, null]))]);
  }
  // Only a body that no pattern needs arrives in pieces.
  if (pieces !== undefined) return "the body is too long to compare";
  const hasNumber = pattern?.kind === "members" && pattern.members.some(isNumber);
  return membersDifference(pattern, rowsOf(payload, hasNumber ? "digits" : "rounded"));
}

/** How numbers are read: as objects with their digits, which takes long, or as JSON.parse does. */
type NumberForm = "digits" | "rounded";

/** Returns the rows of a body. Throws `102` for a body that is not JSON. */
export function rowsOf({ text }: JsonBody, numbers: NumberForm): readonly unknown[] {
  if (text.length === 0) return [];
  const json = textOf(text);
  const parsed = json === null ? undefined : parsedJson(json, numbers);
  if (parsed === undefined) throw errors.invalidJson("The text is not JSON");
  return Array.isArray(parsed) ? parsed : [parsed];
}

/** Whether a value, or one inside of it, must be a number. */
function isNumber({ literal, inner }: BodyMember): boolean {
  return literal !== null && /^[-\d]/.test(literal) || inner?.members.some(isNumber) === true;
}

/** A number as it was sent. */
class Digits {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return { digits: this.text };
  }
}

function parsedJson(json: string, numbers: NumberForm): unknown {
  const revive = (_: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" ? new Digits(context?.source ?? "") : value;
  try {
    if (numbers === "rounded") return JSON.parse(json);
    return JSON.parse(json, revive as (key: string, value: unknown) => unknown);
  } catch {
    return undefined;
  }
}

function membersDifference(pattern: BodyPattern | null, rows: readonly unknown[]): string | null {
  const members = pattern?.kind === "members" ? pattern.members : [];
  for (const row of rows.length === 0 ? [{}] : rows) {
    const found = rowDifference(members, row, "");
    if (found !== null) return found;
  }
  return null;
}

function rowDifference(
  members: readonly BodyMember[],
  row: unknown,
  path: string,
): string | null {
  if (!isJsonObject(row) || row instanceof Digits) return `${path || "the body"} is not an object`;
  const known = new Map(members.map((member) => [member.name, member]));
  const unknown = Object.keys(row).find((name) => !known.has(name));
  if (unknown !== undefined) return `the member ${path}${unknown} is not one of the operation`;
  for (const { name, isOptional, literal, inner } of members) {
    const place = path + name;
    if (!Object.hasOwn(row, name)) {
      if (isOptional) continue;
      return `the member ${place} is missing`;
    }
    const value = row[name];
    if (literal !== null && literalOf(value) !== literal) return `${place} is not ${literal}`;
    if (inner === null || value === null) continue;
    const isList = Array.isArray(value);
    if (isList !== inner.isList) return `${place} is ${isList ? "a" : "no"} list`;
    for (const each of isList ? value : [value]) {
      const found = rowDifference(inner.members, each, `${place}.`);
      if (found !== null) return found;
    }
  }
  return null;
}

function literalOf(value: unknown): string {
  return value instanceof Digits ? value.text : JSON.stringify(value);
}

/** The members that the body of an operation has: `{note, status="open", lines[]{product_id}, text?}`.
 * @module */
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { textOf } from "../../api/request/body/utf8.ts";
import type { ColumnItem } from "../../api/request/url/query_types.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { isRawJson, parseJson } from "../../base/lib/json_text.ts";

export type BodyPattern =
  | MembersPattern
  /** One value: the single unnamed parameter of a function. */
  | { readonly kind: "value" }
  /** A patch document: the JSON of its operations, without their values. */
  | { readonly kind: "patch"; readonly steps: string };

/** An object, or a list of objects. */
export interface MembersPattern {
  readonly kind: "members";
  readonly isList: boolean;
  readonly members: readonly BodyMember[];
}

export interface BodyMember {
  readonly name: string;
  readonly isOptional: boolean;
  /** JSON text of the only value; null for any value. */
  readonly literal: string | null;
  /** The object, or the objects of the list; null for any value. */
  readonly inner: MembersPattern | null;
}

/** Whether a pattern describes more than the names of the outermost members. */
export function needsText(pattern: BodyPattern | null): boolean {
  return pattern?.kind === "members" &&
    pattern.members.some(({ literal, inner }) => literal !== null || inner !== null);
}

/** Returns the pattern of a body. Items of `columns` decide which values have members of their own. */
export function patternOf(payload: Payload, items: readonly ColumnItem[]): BodyPattern | null {
  switch (payload.kind) {
    case "raw":
      return { kind: "value" };
    case "patch":
      return { kind: "patch", steps: JSON.stringify(payload.document.operations) };
    case "form":
    case "json": {
      if (isValue(payload)) return { kind: "value" };
      const pattern = membersPattern(rowsOf(payload, items.length > 0) ?? [], {
        isList: isList(payload),
        items,
      });
      return pattern.members.length === 0 && !pattern.isList ? null : pattern;
    }
    default:
      return payload satisfies never;
  }
}

function membersPattern(
  rows: readonly unknown[],
  { isList, items }: { readonly isList: boolean; readonly items: readonly ColumnItem[] },
): MembersPattern {
  const objects = rows.filter(isJsonObject);
  const names = new Set(objects.flatMap((row) => Object.keys(row)));
  const members = Array.from(names, (name): BodyMember => {
    const present = objects.filter((row) => Object.hasOwn(row, name)).map((row) => row[name]);
    const item = items.find((each) =>
      each.kind === "nested" && (each.alias ?? each.target) === name
    );
    const inner = item?.kind === "nested" && present.every((value) => Object(value) === value)
      ? membersPattern(present.flat(), { isList: Array.isArray(present[0]), items: item.items })
      : null;
    return { name, isOptional: present.length < objects.length, literal: null, inner };
  });
  return { kind: "members", isList, members };
}

type MembersPayload = Extract<Payload, { kind: "form" | "json" }>;

function isValue(payload: MembersPayload): boolean {
  return payload.kind === "json" && payload.value !== undefined;
}

function isList(payload: MembersPayload): boolean {
  return payload.kind === "json" && payload.shape === "array";
}

/** Returns the rows of a body; one with the names of all where these are enough; null for a body that was not kept.
 * Throws `102` for a body that is not JSON. */
function rowsOf(payload: MembersPayload, isTextNeeded: boolean): readonly unknown[] | null {
  if (payload.kind === "form") return [Object.fromEntries(payload.fields)];
  const { keys, keysVary, text, pieces } = payload;
  if (keys !== null && !isTextNeeded && !isValue(payload) && keysVary !== true) {
    return [Object.fromEntries(keys.map((key) => [key, null]))];
  }
  if (pieces !== undefined) return null;
  if (text.length === 0) return [];
  try {
    return [parseJson(textOf(text) ?? "")].flat();
  } catch {
    throw errors.invalidJson("The text is not JSON");
  }
}

/** Returns the first difference between a body and its pattern, or null. */
export function bodyDifference(pattern: BodyPattern | null, payload: Payload): string | null {
  switch (payload.kind) {
    case "raw":
      return pattern?.kind === "value" ? null : "the body is one value";
    case "patch": {
      const steps = JSON.stringify(payload.document.operations);
      const isSame = pattern?.kind === "patch" && pattern.steps === steps;
      return isSame ? null : "the patch document has other operations";
    }
    case "form":
    case "json":
      return pattern?.kind === "value" && payload.kind === "json"
        ? null
        : membersDifference(pattern, payload);
    default:
      return payload satisfies never;
  }
}

function membersDifference(pattern: BodyPattern | null, payload: MembersPayload): string | null {
  const expected = pattern?.kind === "members" ? pattern : noMembers;
  if (isList(payload) !== expected.isList) {
    return `the body is ${expected.isList ? "no" : "a"} list`;
  }
  if (payload.kind === "json" && payload.moreKeys > 0) return "the body has too many members";
  // A variadic parameter takes all values of its name.
  const isRepeated = payload.kind === "form" && payload.fields.length > payload.keys.length;
  if (isRepeated && needsText(pattern)) return "a member occurs twice";
  const rows = rowsOf(payload, needsText(pattern));
  if (rows === null) return "the body is too long to compare";
  return firstDifference(rows.length === 0 ? [{}] : rows, expected.members, "");
}

const noMembers: MembersPattern = { kind: "members", isList: false, members: [] };

function firstDifference(
  rows: readonly unknown[],
  members: readonly BodyMember[],
  path: string,
): string | null {
  for (const row of rows) {
    if (!isJsonObject(row) || isRawJson(row)) return `${path || "the body"} is not an object`;
    const found = rowDifference(row, members, path);
    if (found !== null) return found;
  }
  return null;
}

function rowDifference(
  row: JsonObject,
  members: readonly BodyMember[],
  path: string,
): string | null {
  const unknown = Object.keys(row).find((name) => !members.some((member) => member.name === name));
  if (unknown !== undefined) return `the member ${path}${unknown} is not one of the operation`;
  for (const { name, isOptional, literal, inner } of members) {
    const place = path + name;
    const isPresent = Object.hasOwn(row, name);
    if (!isPresent && !isOptional) return `the member ${place} is missing`;
    const value = row[name];
    if (isPresent && literal !== null && JSON.stringify(value) !== literal) {
      return `${place} is not ${literal}`;
    }
    if (inner === null || value === undefined || value === null) continue;
    if (Array.isArray(value) !== inner.isList) {
      return `${place} is ${inner.isList ? "no" : "a"} list`;
    }
    const found = firstDifference([value].flat(), inner.members, `${place}.`);
    if (found !== null) return found;
  }
  return null;
}

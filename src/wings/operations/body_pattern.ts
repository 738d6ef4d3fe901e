/**
 * The members of an operation's body: `{note, status="open", lines[]{product_id}, text?}`. @module
 */
import type { Payload } from "../../api/request/body/body_decoder.ts";
import { textOf } from "../../api/request/utf8.ts";
import type { ColumnItem } from "../../api/request/url/query_types.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { isRawJson, parseJson } from "../../base/lib/json_text.ts";

export type BodyPattern =
  | MembersPattern
  /** One value, for the single unnamed parameter of a function. */
  | { readonly kind: "value" }
  /** A patch document: the JSON of its operations, without values. */
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
  /** JSON text of the required value; null for any value. */
  readonly literal: string | null;
  /** Pattern of the object, or of the objects in the list; null for any value. */
  readonly inner: MembersPattern | null;
}

/** Returns whether a pattern describes more than the names of the outermost members. */
export function needsText(pattern: BodyPattern | null): boolean {
  return pattern?.kind === "members" &&
    pattern.members.some(({ literal, inner }) => literal !== null || inner !== null);
}

/** Returns the pattern of a body. Items of `columns` decide which values have nested members. */
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

/** Returns the rows of a body. If names are sufficient, returns one row with all names. Returns null
 * for a body that was not stored. Throws `102` for a body that is not JSON. */
function rowsOf(payload: MembersPayload, isTextNeeded: boolean): readonly unknown[] | null {
  if (payload.kind === "form") return [Object.fromEntries(payload.fields)];
  const { keys, keysVary, text, chunks } = payload;
  if (keys !== null && !isTextNeeded && !isValue(payload) && keysVary !== true) {
    return [Object.fromEntries(keys.map((key) => [key, null]))];
  }
  if (chunks !== undefined) return null;
  if (text.length === 0) return [];
  try {
    return [parseJson(textOf(text) ?? "")].flat();
  } catch {
    throw errors.invalidJson("The text is not JSON");
  }
}

/** Returns whether a pattern permits a body. */
export function allowsBody(pattern: BodyPattern | null, payload: Payload): boolean {
  switch (payload.kind) {
    case "raw":
      return pattern?.kind === "value";
    case "patch":
      return pattern?.kind === "patch" &&
        pattern.steps === JSON.stringify(payload.document.operations);
    case "form":
    case "json":
      return pattern?.kind === "value" && payload.kind === "json" ||
        allowsMembers(pattern, payload);
    default:
      return payload satisfies never;
  }
}

function allowsMembers(pattern: BodyPattern | null, payload: MembersPayload): boolean {
  const expected = pattern?.kind === "members" ? pattern : noMembers;
  const hasMore = payload.kind === "json" && payload.moreKeys > 0;
  // A form may repeat a name for a variadic parameter. Its values cannot be compared with literals.
  const isRepeated = payload.kind === "form" && payload.fields.length > payload.keys.length;
  const isWhole = needsText(pattern);
  if (isList(payload) !== expected.isList || hasMore || isRepeated && isWhole) return false;
  const rows = rowsOf(payload, isWhole);
  // A body that was not stored is refused, because its members cannot be compared.
  if (rows === null) return false;
  return (rows.length === 0 ? [{}] : rows).every((row) => allowsRow(expected, row));
}

const noMembers: MembersPattern = { kind: "members", isList: false, members: [] };

function allowsRow({ members }: MembersPattern, row: unknown): boolean {
  return isJsonObject(row) && !isRawJson(row) &&
    Object.keys(row).every((name) => members.some((member) => member.name === name)) &&
    members.every((member) => allowsMember(member, row));
}

function allowsMember(
  { name, isOptional, literal, inner }: BodyMember,
  row: JsonObject,
): boolean {
  if (!Object.hasOwn(row, name)) return isOptional;
  const value = row[name];
  if (literal !== null && JSON.stringify(value) !== literal) return false;
  if (inner === null || value === null) return true;
  return Array.isArray(value) === inner.isList &&
    [value].flat().every((each) => allowsRow(inner, each));
}

/**
 * Patch documents: JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902), with further operations in
 * the vendor's form.
 *
 * The service reads only the structure of a document. PostgreSQL reads its values, so that numbers keep
 * their digits.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { isJsonObject, type JsonObject } from "../lib/json_object.ts";

/** `merge` is RFC 7396, `json` is RFC 6902, `extended` adds `set`, `incr`, `append` and `pull`. */
export type PatchFormat = "merge" | "json" | "extended";

/** JSON's types of values. */
export type JsonKind = "null" | "boolean" | "number" | "string" | "array" | "object";

/** Operations that take a value from the document. */
type ValueOperator = "add" | "replace" | "set" | "test" | "incr" | "append" | "pull";

/** One operation. Paths are the segments of JSON Pointers; the first one is a column. */
export type PatchOperation =
  & {
    /** Position in the document, from 1. */
    readonly number: number;
    readonly path: readonly string[];
  }
  & (
    | {
      readonly operator: ValueOperator;
      /** The path in the document, where the value stands. */
      readonly value: readonly string[];
      readonly kind: JsonKind;
    }
    | { readonly operator: "remove" }
    | { readonly operator: "copy" | "move"; readonly from: readonly string[] }
    | { readonly operator: "merge"; readonly object: MergedObject }
  );

/** An object of a merge patch: its members change those of the object that stands in its place. */
export interface MergedObject {
  /** The path in the document, where it stands. */
  readonly path: readonly string[];
  /** Keys whose members are removed. */
  readonly removed: readonly string[];
  /** Members that are merged in turn. */
  readonly objects: readonly (readonly [key: string, object: MergedObject])[];
  /** Number of objects, with this one. */
  readonly size: number;
}

/** A patch, with its text as JSON. */
export interface PatchDocument {
  readonly operations: readonly PatchOperation[];
}

/** Most operations of a document, and most segments of a pointer. */
const limits = { operations: 1000, segments: 64 } as const;

/** Reads a document. Throws `149` if it is not one of its format. */
export function readPatch(value: unknown, format: PatchFormat): PatchDocument {
  if (format === "merge") {
    if (!isJsonObject(value)) throw errors.invalidPatch("A merge patch is an object");
    const columns = Object.entries(value);
    if (columns.length > limits.operations) throw tooLong();
    const operations = columns.map(([column, member], index) =>
      columnMerge(column, member, index + 1)
    );
    return { operations };
  }
  if (!Array.isArray(value)) throw errors.invalidPatch("A JSON patch is an array of operations");
  if (value.length > limits.operations) throw tooLong();
  const operations = value.map((each, index) => jsonOperation(each, index, format));
  return { operations };
}

function tooLong(): Error {
  return errors.invalidPatch(`More than ${limits.operations} operations`);
}

function columnMerge(column: string, value: unknown, number: number): PatchOperation {
  const path = [column];
  return isJsonObject(value)
    ? { operator: "merge", number, path, object: mergedObject(value, path, number) }
    : { operator: "set", number, path, value: path, kind: kindOf(value) };
}

function mergedObject(value: JsonObject, path: readonly string[], number: number): MergedObject {
  checkLength(path, number);
  const members = Object.entries(value);
  const objects = members.flatMap(([key, member]) =>
    isJsonObject(member) ? [[key, mergedObject(member, [...path, key], number)] as const] : []
  );
  return {
    path,
    removed: members.filter(([, member]) => member === null).map(([key]) => key),
    objects,
    size: objects.reduce((sum, [, object]) => sum + object.size, 1),
  };
}

const standardOperators: ReadonlySet<unknown> = new Set([
  "add",
  "replace",
  "remove",
  "test",
  "copy",
  "move",
]);
const furtherOperators: ReadonlySet<unknown> = new Set(["set", "incr", "append", "pull"]);

function jsonOperation(value: unknown, index: number, format: PatchFormat): PatchOperation {
  const number = index + 1;
  const refuse = (reason: string) => errors.invalidPatch(`Operation ${number}: ${reason}`);
  if (!isJsonObject(value)) throw refuse("an operation is an object");
  const operator = value["op"];
  const isKnown = standardOperators.has(operator) ||
    (format === "extended" && furtherOperators.has(operator));
  if (!isKnown) throw refuse("'op' is no known operation");
  const path = pointer(value["path"], number, "path");
  switch (operator) {
    case "remove":
      return { operator, number, path };
    case "copy":
    case "move": {
      const from = pointer(value["from"], number, "from");
      if (operator === "move" && isInside(path, from)) {
        throw refuse("a value cannot be moved into itself");
      }
      return { operator, number, path, from };
    }
    default: {
      if (!Object.hasOwn(value, "value")) throw refuse("'value' is missing");
      const kind = kindOf(value["value"]);
      return {
        operator: operator as ValueOperator,
        number,
        path,
        value: [String(index), "value"],
        kind,
      };
    }
  }
}

/** Returns the segments of a JSON Pointer (RFC 6901). */
function pointer(text: unknown, number: number, member: string): readonly string[] {
  const refuse = (reason: string) => errors.invalidPatch(`Operation ${number}: ${reason}`);
  if (typeof text !== "string") throw refuse(`'${member}' is no text`);
  if (text === "") throw refuse(`'${member}' names no column`);
  if (!text.startsWith("/") || /~(?![01])/.test(text)) {
    throw refuse(`'${member}' is no JSON Pointer`);
  }
  const segments = text.slice(1).split("/").map((segment) =>
    segment.replaceAll("~1", "/").replaceAll("~0", "~")
  );
  checkLength(segments, number);
  return segments;
}

function checkLength(path: readonly string[], number: number): void {
  if (path.length <= limits.segments) return;
  const reason = `a pointer has more than ${limits.segments} segments`;
  throw errors.invalidPatch(`Operation ${number}: ${reason}`);
}

function isInside(path: readonly string[], parent: readonly string[]): boolean {
  return path.length > parent.length && parent.every((segment, at) => path[at] === segment);
}

function kindOf(value: unknown): JsonKind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value as "boolean" | "number" | "string" | "object";
}

/** Parses the structure of patch documents: JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902).
 * PostgreSQL parses the values, so that numbers keep their digits. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { type JsonKind, JsonOutline } from "./json_outline.ts";

/** `merge` is RFC 7396, `json` is RFC 6902, `extended` adds `set`, `incr`, `append` and `pull`. */
export type PatchFormat = "merge" | "json" | "extended";

/** Operations whose value is in the document. */
type ValueOperator = "add" | "replace" | "set" | "test" | "incr" | "append" | "pull";

/** One operation. Paths are the segments of JSON Pointers. The first segment is a column. */
export type PatchOperation =
  & {
    /** Position in the document, from 1. */
    readonly number: number;
    readonly path: readonly string[];
  }
  & (
    | {
      readonly operator: ValueOperator;
      /** The path of the value in the document. */
      readonly value: readonly string[];
      readonly kind: JsonKind;
    }
    | { readonly operator: "remove" }
    /** `from` is in the same column. */
    | { readonly operator: "copy" | "move"; readonly from: readonly string[] }
    | { readonly operator: "merge"; readonly object: MergedObject }
  );

/** An object of a merge patch. Its members change the members of the object at this path. */
export interface MergedObject {
  /** Path of the object in the document. */
  readonly path: readonly string[];
  /** Keys whose members are removed. */
  readonly removed: readonly string[];
  /** Members that are objects, which are merged recursively. */
  readonly objects: readonly (readonly [key: string, object: MergedObject])[];
  /** Number of objects: this object and all objects inside of it. */
  readonly size: number;
}

/** A patch, and its text as JSON. */
export interface PatchDocument {
  readonly operations: readonly PatchOperation[];
}

/** Maximum sizes. `members` limits the objects of a merge patch. Copies are limited because a copy
 * of a value into itself doubles the value. */
const limits = {
  operations: 1000,
  operationMembers: 16,
  members: 10_000,
  segments: 64,
  copies: 4,
} as const;

/** Parses a document from valid JSON. Throws `149` if it does not have the format. */
export function readPatch(text: Uint8Array, format: PatchFormat): PatchDocument {
  const outline = new JsonOutline(text);
  return { operations: format === "merge" ? readMerge(outline) : readOperations(outline, format) };
}

function readMerge(outline: JsonOutline): readonly PatchOperation[] {
  if (outline.kind !== "object") throw errors.invalidPatch("A merge patch is an object");
  const operations = new Map<string, PatchOperation>();
  const reader = new MergeReader(outline);
  for (const column of outline.members()) {
    // If several members have the same name, the last one applies.
    const number = operations.get(column)?.number ?? operations.size + 1;
    if (number > limits.members) throw tooMany("members", limits.members);
    const path = [column];
    const { kind } = outline;
    operations.set(
      column,
      kind === "object"
        ? { operator: "merge", number, path, object: reader.object(path, number) }
        : { operator: "set", number, path, value: path, kind },
    );
  }
  return [...operations.values()];
}

function tooMany(what: string, count: number): Error {
  return errors.invalidPatch(`More than ${count} ${what}`);
}

/** Parses the objects of a merge patch, and limits the number of their members. */
class MergeReader {
  readonly #outline: JsonOutline;
  #members = 0;

  constructor(outline: JsonOutline) {
    this.#outline = outline;
  }

  object(path: readonly string[], number: number): MergedObject {
    checkLength(path, number);
    const removed = new Set<string>();
    const objects = new Map<string, MergedObject>();
    for (const key of this.#outline.members()) {
      if (++this.#members > limits.members) throw tooMany("members", limits.members);
      removed.delete(key);
      objects.delete(key);
      if (this.#outline.kind === "null") removed.add(key);
      else if (this.#outline.kind === "object") {
        objects.set(key, this.object([...path, key], number));
      }
    }
    const size = [...objects.values()].reduce((sum, object) => sum + object.size, 1);
    return { path, removed: [...removed], objects: [...objects], size };
  }
}

function readOperations(outline: JsonOutline, format: PatchFormat): readonly PatchOperation[] {
  if (outline.kind !== "array") throw errors.invalidPatch("A JSON patch is an array of operations");
  const operations: PatchOperation[] = [];
  let copies = 0;
  for (const index of outline.elements()) {
    if (index === limits.operations) throw tooMany("operations", limits.operations);
    const operation = jsonOperation(readMembers(outline, index + 1), index, format);
    if (operation.operator === "copy" && ++copies > limits.copies) {
      throw tooMany("copies", limits.copies);
    }
    operations.push(operation);
  }
  return operations;
}

/** The members of an operation. A text is null if its member is missing or not a string. */
interface OperationMembers {
  readonly op: string | null;
  readonly path: string | null;
  readonly from: string | null;
  /** Type of the member `value`; null if it is missing. */
  readonly kind: JsonKind | null;
}

function readMembers(outline: JsonOutline, number: number): OperationMembers {
  if (outline.kind !== "object") {
    throw errors.invalidPatch(`Operation ${number}: an operation is an object`);
  }
  const texts = new Map<string, string | null>();
  let kind: JsonKind | null = null;
  let count = 0;
  for (const name of outline.members()) {
    if (++count > limits.operationMembers) throw tooMany("members", limits.operationMembers);
    if (name === "value") kind = outline.kind;
    else texts.set(name, outline.string());
  }
  const text = (name: string) => texts.get(name) ?? null;
  return { op: text("op"), path: text("path"), from: text("from"), kind };
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

function jsonOperation(
  { op: operator, kind, ...texts }: OperationMembers,
  index: number,
  format: PatchFormat,
): PatchOperation {
  const number = index + 1;
  const refuse = (reason: string) => errors.invalidPatch(`Operation ${number}: ${reason}`);
  const isKnown = standardOperators.has(operator) ||
    (format === "extended" && furtherOperators.has(operator));
  if (!isKnown) throw refuse("'op' is no known operation");
  const path = pointer(texts.path, number, "path");
  switch (operator) {
    case "remove":
      return { operator, number, path };
    case "copy":
    case "move": {
      const from = pointer(texts.from, number, "from");
      if (from[0] !== path[0]) throw refuse("'from' is in another column");
      if (operator === "move" && isInside(path, from)) {
        throw refuse("a value cannot be moved into itself");
      }
      return { operator, number, path, from };
    }
    default: {
      if (kind === null) throw refuse("'value' is missing");
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
function pointer(text: string | null, number: number, member: string): readonly string[] {
  const refuse = (reason: string) => errors.invalidPatch(`Operation ${number}: ${reason}`);
  if (text === null) throw refuse(`'${member}' is no text`);
  if (text === "") throw refuse(`'${member}' names no column`);
  if (!text.startsWith("/") || /~(?![01])/.test(text)) {
    throw refuse(`'${member}' is no JSON Pointer`);
  }
  const segments = text.slice(1).split("/", limits.segments + 1);
  checkLength(segments, number);
  return segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function checkLength(path: readonly string[], number: number): void {
  if (path.length <= limits.segments) return;
  const reason = `a pointer has more than ${limits.segments} segments`;
  throw errors.invalidPatch(`Operation ${number}: ${reason}`);
}

function isInside(path: readonly string[], parent: readonly string[]): boolean {
  return path.length > parent.length && parent.every((segment, at) => path[at] === segment);
}

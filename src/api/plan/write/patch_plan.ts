/** Plans a patch document. Operations inside a column become steps on its value as JSON. Other
 * operations become expressions of the column's current value. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type {
  MergedObject,
  PatchDocument,
  PatchOperation,
} from "../../request/body/patch_document.ts";
import type { WrittenColumn } from "./written_column.ts";

export interface PatchedColumn extends WrittenColumn {
  /** Type as `format_type` prints it; for a domain, its base type. */
  readonly baseType: string;
  /** Labels of an enum; empty for other types. */
  readonly enumLabels: readonly string[];
}

export interface PatchStep {
  readonly operation: PatchOperation;
  readonly path: readonly string[];
  /** Path of the value for `copy` and `move`; null if the value is in the document. */
  readonly from: readonly string[] | null;
  /**
   * Whether the last segment is an attribute of a composite type, which has no further segments.
   */
  readonly isAttribute: boolean;
}

export type PatchValue =
  & { readonly column: PatchedColumn }
  & (
    | { readonly kind: "current" }
    | { readonly kind: "null" }
    /** A value of the document, at a path. */
    | { readonly kind: "document"; readonly at: readonly string[] }
    | {
      readonly kind: "steps";
      readonly base: PatchValue;
      readonly steps: readonly PatchStep[];
    }
    | { readonly kind: "merged"; readonly base: PatchValue; readonly object: MergedObject }
    | {
      readonly kind: "sum" | "text";
      readonly base: PatchValue;
      readonly at: readonly string[];
      /** Type of the second operand. */
      readonly addend: string;
    }
    | { readonly kind: "checked"; readonly base: PatchValue; readonly tests: readonly PatchTest[] }
  );

/** A test of a whole column. If it fails, the operation fails. */
export interface PatchTest {
  readonly value: PatchValue;
  readonly at: readonly string[];
  readonly number: number;
}

export interface ColumnPatches {
  readonly written: readonly PatchValue[];
  readonly tests: readonly PatchTest[];
}

/** Maximum number of steps. Each is a nested query, and the planning time grows with the number's square. */
const maxSteps = 100;

/** Plans the patches by column. `columnOf` throws `204`. Throws `149` for operations, and `150` for
 * paths into values without parts. */
export function planColumnPatches(
  { operations }: PatchDocument,
  columnOf: (name: string) => PatchedColumn,
): ColumnPatches {
  const values = new Map<string, PatchValue>();
  const written = new Set<string>();
  const tests: PatchTest[] = [];
  const valueOf = (name: string): PatchValue => {
    const value = values.get(name);
    if (value !== undefined) return value;
    const current: PatchValue = { kind: "current", column: columnOf(name) };
    values.set(name, current);
    return current;
  };
  for (const operation of operations) {
    const [name] = operation.path as [string];
    const before = valueOf(name);
    if (operation.operator === "test" && operation.path.length === 1) {
      tests.push({ value: before, at: operation.value, number: operation.number });
      continue;
    }
    const after = patched(before, operation);
    values.set(name, after);
    written.add(name);
  }
  const [first, ...rest] = [...written].map((name) => values.get(name)!);
  if (first === undefined) return { written: [], tests };
  if (tests.length === 0) return { written: [first, ...rest], tests };
  const checked = { kind: "checked", column: first.column, base: first, tests } as const;
  return { written: [checked, ...rest], tests: [] };
}

function patched(before: PatchValue, operation: PatchOperation): PatchValue {
  const { column } = before;
  if (operation.path.length > 1) return inside(before, operation);
  switch (operation.operator) {
    case "add":
    case "replace":
    case "set":
      return operation.kind === "null"
        ? { kind: "null", column }
        : { kind: "document", column, at: operation.value };
    case "merge":
      return hasParts(column) && !isArray(column)
        ? merged(before, operation.object)
        : { kind: "document", column, at: operation.path };
    case "remove":
      return { kind: "null", column };
    case "copy":
    case "move":
      return inside(before, operation);
    case "incr":
      return sum(before, operation);
    case "append":
      if (textTypes.has(column.baseType)) return appendedText(before, operation);
      if (!isArray(column)) throw wrongType(operation, `'${column.name}' is no array`);
      return inside(before, operation);
    case "pull":
      if (!isArray(column)) throw wrongType(operation, `'${column.name}' is no array`);
      return inside(before, operation);
    case "test":
      return before;
    default:
      return operation satisfies never;
  }
}

function merged(base: PatchValue, object: MergedObject): PatchValue {
  if (object.size > maxSteps) {
    throw errors.invalidPatch(`More than ${maxSteps} objects in a column`);
  }
  return { kind: "merged", column: base.column, base, object };
}

function inside(before: PatchValue, operation: PatchOperation): PatchValue {
  const { column } = before;
  if (!hasParts(column)) throw errors.patchDoesNotApply(`Column '${column.name}' has no parts`);
  const path = operation.path.slice(1);
  const from = "from" in operation ? operation.from.slice(1) : null;
  const value = before.kind === "steps" ? before : { base: before, steps: [] };
  if (value.steps.length === maxSteps) {
    throw errors.invalidPatch(`More than ${maxSteps} operations inside of '${column.name}'`);
  }
  return {
    kind: "steps",
    column,
    base: value.base,
    steps: [...value.steps, { operation, path, from, isAttribute: isAttribute(column, path) }],
  };
}

const numbers: ReadonlySet<string> = new Set([
  "smallint",
  "integer",
  "bigint",
  "numeric",
  "real",
  "double precision",
  "money",
]);
const times: ReadonlySet<string> = new Set([
  "timestamp without time zone",
  "timestamp with time zone",
  "time without time zone",
  "time with time zone",
  "interval",
]);
const textTypes: ReadonlySet<string> = new Set(["text", "character varying", "character"]);

type ValueOperation = Extract<PatchOperation, { readonly value: readonly string[] }>;

function sum(base: PatchValue, operation: ValueOperation): PatchValue {
  const { baseType: type, name } = base.column;
  const addend = times.has(type) ? "interval" : type === "date" ? "integer" : type;
  if (addend === type && !numbers.has(type) && type !== "interval") {
    throw wrongType(operation, `'${name}' cannot be increased`);
  }
  const expected = addend === "interval" ? "string" : "number";
  if (operation.kind !== expected) throw wrongType(operation, `'value' is no ${expected}`);
  return added("sum", base, operation, addend);
}

function appendedText(base: PatchValue, operation: ValueOperation): PatchValue {
  if (operation.kind !== "string") throw wrongType(operation, "'value' is no string");
  return added("text", base, operation, "text");
}

function added(
  kind: "sum" | "text",
  base: PatchValue,
  { value }: ValueOperation,
  addend: string,
): PatchValue {
  return { kind, column: base.column, base, at: value, addend };
}

function wrongType({ number }: PatchOperation, reason: string): Error {
  return errors.invalidPatch(`Operation ${number}: ${reason}`);
}

/** Types of `pg_catalog` whose JSON has parts. Types in other schemas may be composite. */
const typesWithParts: ReadonlySet<string> = new Set(["json", "jsonb"]);

function hasParts(column: PatchedColumn): boolean {
  if (column.fromJson !== null || column.enumLabels.length > 0) return false;
  return typesWithParts.has(column.baseType) || isArray(column) || column.baseType.includes(".");
}

/** Returns whether a path ends at an attribute of the column's type. For an array, the first
 * segment is an index. */
function isAttribute(column: PatchedColumn, { length }: readonly string[]): boolean {
  return column.baseType.includes(".") && length === (isArray(column) ? 2 : 1);
}

function isArray({ baseType }: PatchedColumn): boolean {
  return baseType.endsWith("[]");
}

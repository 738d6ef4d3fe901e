/**
 * References of a batch: values of an operation that come from the results of earlier ones.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import type { ResultPart, ResultValue } from "../query/result_reference.ts";
import type { BatchOperation } from "./batch_document.ts";

/** Where a value goes. */
export type ReferenceTarget =
  /** A member of the body's object, or of all its objects. */
  | { readonly kind: "member"; readonly shape: "object" | "array"; readonly column: string }
  /** A text in the query string. */
  | { readonly kind: "url"; readonly text: string };

/** A reference of an operation. */
export interface BatchReference {
  readonly target: ReferenceTarget;
  /** As sent. */
  readonly targetText: string;
  /** As sent. */
  readonly source: string;
  readonly value: ResultValue;
}

/** Reads the references of an operation. `ids` are those of earlier operations. Throws `142`. */
export function readReferences(
  { refs }: Pick<BatchOperation, "refs">,
  ids: ReadonlyMap<string, number>,
): readonly BatchReference[] {
  return refs.map(([targetText, source]) => {
    const refuse = (reason: string) => errors.invalidReference(targetText, reason);
    const target = readTarget(targetText);
    if (target === null) {
      throw refuse("The target is not '/<column>', '/*/<column>' or '{<name>}'");
    }
    const hash = source.indexOf("#");
    const part = hash < 0 ? null : readPart(source.slice(hash + 1));
    if (part === null) {
      throw refuse(
        `The source '${source}' is not '<id>#', followed by '/<column>' or '/<row>/<column>'`,
      );
    }
    const operation = ids.get(source.slice(0, hash));
    if (operation === undefined) throw refuse(`No earlier operation is '${source.slice(0, hash)}'`);
    return { target, targetText, source, value: { operation, part } };
  });
}

function readTarget(text: string): ReferenceTarget | null {
  if (/^\{[A-Za-z0-9_-]{1,64}\}$/.test(text)) return { kind: "url", text };
  const segments = pointerSegments(text);
  if (segments?.length === 1) return { kind: "member", shape: "object", column: segments[0]! };
  if (segments?.length !== 2 || segments[0] !== "*") return null;
  return { kind: "member", shape: "array", column: segments[1]! };
}

/** At most four digits. */
const rowIndex = /^(?:0|[1-9][0-9]{0,3})$/;

function readPart(pointer: string): ResultPart | null {
  if (pointer === "") return { kind: "scalar" };
  const segments = pointerSegments(pointer);
  const [first = "", column] = segments ?? [];
  if (segments?.length === 1) return { kind: "only", column: first };
  if (segments?.length !== 2 || column === undefined) return null;
  if (first === "*") return { kind: "all", column };
  return rowIndex.test(first) ? { kind: "row", index: Number(first), column } : null;
}

/** Returns the segments of a JSON Pointer (RFC 6901); null for other texts. */
function pointerSegments(text: string): readonly string[] | null {
  if (!text.startsWith("/") || text.includes("\0") || /~(?![01])/.test(text)) return null;
  return text.slice(1).split("/").map((segment) =>
    segment.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/**
 * The references between the operations of a batch.
 *
 * @module
 */
import type { BatchOperation } from "./batch_document.ts";
import { OperationReferences, type ReferenceContext } from "./operation_references.ts";
import { type BatchReference, readReferences } from "./references.ts";
import type { RawRequest } from "../request/raw_request.ts";

/** References by operation. Those that are malformed throw when their operation is planned. */
export class BatchReferences {
  readonly #references: readonly (() => readonly BatchReference[])[];
  /** Columns that later operations use, by operation. */
  readonly #used = new Map<number, Set<string>>();

  constructor(operations: readonly BatchOperation[]) {
    const ids = new Map<string, number>();
    this.#references = operations.map((operation) => {
      const references = this.#read(operation, ids);
      ids.set(operation.id, operation.index);
      return references;
    });
  }

  /** Returns the references from and to an operation; null without any. Throws `142`. */
  of(
    index: number,
    { pieces, ...context }: Pick<ReferenceContext, "cache" | "earlier"> & {
      readonly pieces: RawRequest;
    },
  ): OperationReferences | null {
    const references = this.#references[index]!();
    const usedColumns = this.#used.get(index) ?? null;
    if (references.length === 0 && usedColumns === null) return null;
    return new OperationReferences(pieces, { ...context, index, references, usedColumns });
  }

  #read(
    operation: BatchOperation,
    ids: ReadonlyMap<string, number>,
  ): () => readonly BatchReference[] {
    try {
      const references = readReferences(operation, ids);
      for (const { value: { operation: source, part } } of references) {
        const used = this.#used.get(source) ?? new Set();
        if (part.kind !== "scalar") used.add(part.column);
        this.#used.set(source, used);
      }
      return () => references;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }
}

/** A case under load: a request, and the statement that a person would write for it. @module */
import type { LoadRequest } from "./wrk.ts";

/** A request under load. */
export interface LoadCase {
  readonly name: string;
  readonly request: LoadRequest;
  /** Status of every answer. */
  readonly status: number;
  /** SQL that runs before each run. */
  readonly reset?: string;
  readonly floor: HandWritten;
}

/**
 * The statement that a person would write for a request. Its first column is the body of the answer,
 * as JSON; a statement without columns stands for an empty body.
 */
export interface HandWritten {
  readonly text: string;
  /** Templates with the placeholders of the request. */
  readonly params: readonly string[];
}

/** The content of an error of svc. @module */
import { ServiceError } from "../../../src/base/errors/service_error.ts";

/** An error without what is null or for machines alone. */
export interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details?: unknown;
  readonly hint?: string;
}

/** Runs something that should be refused. Throws when it is not, or by another error. */
export function refusalOf(run: () => unknown): Refusal {
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    return describe(error);
  }
  throw new Error(`Not refused: ${Deno.inspect(result)}`);
}

/** As {@linkcode refusalOf} for something that takes its time. */
export async function rejectionOf(run: () => unknown): Promise<Refusal> {
  let result: unknown;
  try {
    result = await run();
  } catch (error) {
    return describe(error);
  }
  throw new Error(`Not refused: ${Deno.inspect(result)}`);
}

function describe(error: unknown): Refusal {
  if (!(error instanceof ServiceError)) throw error;
  const { code, status, message, details, hint } = error.fields;
  return { code, status, message, ...(details ? { details } : {}), ...(hint ? { hint } : {}) };
}

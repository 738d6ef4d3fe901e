/** The type of a row of the error catalogue. @module */
import type { HeaderList } from "../lib/header_list.ts";
import { type ErrorFields, ServiceError } from "./service_error.ts";

/** One row: creates the error, and holds its code, status and text for the reference. */
export type ErrorDefinition<Args extends readonly unknown[]> = ((...args: Args) => ServiceError) & {
  readonly code: string;
  readonly status: number;
  /** Markdown, completing "… when". */
  readonly condition: string;
};

/** Returns a function that creates the error from the arguments of its text. */
export function defineError<Args extends readonly unknown[]>(
  code: string,
  status: number,
  fieldsOf: (...args: Args) => Omit<ErrorFields, "code" | "own" | "status">,
): { when(condition: string): ErrorDefinition<Args> } {
  const make = (...args: Args) =>
    new ServiceError({ code, own: true, status, ...fieldsOf(...args) });
  return { when: (condition) => Object.assign(make, { code, status, condition }) };
}

/** `WWW-Authenticate` of a response to a request that needs a token. */
export const bearerChallenge: HeaderList = [["WWW-Authenticate", "Bearer"]];

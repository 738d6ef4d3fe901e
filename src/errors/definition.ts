/** The type of a row of the catalogue of errors. @module */
import type { HeaderList } from "../lib/header_list.ts";
import { type ErrorFields, type ErrorTexts, ServiceError } from "./service_error.ts";

/** One row: creates the error, and holds its code, status and text for the reference. */
export type ErrorDefinition<Args extends readonly unknown[]> = ((...args: Args) => ServiceError) & {
  readonly code: string;
  readonly status: number;
  /** Markdown, completing "… when". */
  readonly when: string;
};

/** Returns a row: a function that creates the error, with its code, status and text. */
export function defineError<Args extends readonly unknown[]>(
  code: string,
  status: number,
  when: string,
  texts: (
    ...args: Args
  ) =>
    & ErrorTexts
    & Pick<
      ErrorFields,
      | "advice"
      | "closesConnection"
      | "concernsStandbys"
      | "describesServer"
      | "headers"
      | "shedReason"
      | "variant"
    >,
): ErrorDefinition<Args> {
  const make = (...args: Args) => new ServiceError({ code, own: true, status, ...texts(...args) });
  return Object.assign(make, { code, status, when });
}

/** `WWW-Authenticate` of a response to a request that needs a token. */
export const bearerChallenge: HeaderList = [["WWW-Authenticate", "Bearer"]];

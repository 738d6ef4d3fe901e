/**
 * Names of relations and functions in the texts of errors.
 *
 * @module
 */
import { quotable } from "./quoting.ts";

/** A relation or a function by schema and name. */
export interface Qualified {
  readonly schema: string;
  readonly name: string;
}

/** Returns `schema.name`, shortened if it is long. */
export const qualified = ({ schema, name }: Qualified) => quotable(`${schema}.${name}`);

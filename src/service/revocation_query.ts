/**
 * The query of the list of revoked tokens: its statements, and their results.
 *
 * @module
 */
import type { Revocation } from "../auth/revocations.ts";
import type { FunctionName } from "../config/codecs.ts";
import type { Statement } from "../database/batch.ts";
import { compile, ident, param, quoteIdent, sql } from "../sql/fragment.ts";
import { maxRevocations } from "./revocation_list.ts";

/** Returns the statement whose value is `t` if a name is that of a relation, else `f`. */
export function relationStatement({ schema, name }: FunctionName): Statement {
  const text = [...(schema === null ? [] : [schema]), name].map(quoteIdent).join(".");
  return {
    ...compile(sql`select pg_catalog.to_regclass(${param(text)}) is not null`),
    use: "rows",
  };
}

/** Returns the statement that reads the list, with one row more than the list may have. */
export function revocationStatement(
  { schema, name }: FunctionName,
  { isRelation }: { readonly isRelation: boolean },
): Statement {
  const named = schema === null ? ident(name) : ident(schema, name);
  const source = isRelation ? named : sql`${named}()`;
  const query = sql`
select coalesce(json_agg(json_build_array(claim, value, issued_before, expires)), '[]')::text
from (
  select claim::text as claim, value::text as value, issued_before::bigint as issued_before,
    extract(epoch from until)::float8 as expires
  from ${source}
  where claim is not null and value is not null and (until is null or until > now())
  limit ${param(String(maxRevocations + 1))}::bigint
) list`;
  return { ...compile(query), use: "rows" };
}

type RevocationRow = readonly [
  claim: string,
  value: string,
  issuedBefore: number | null,
  until: number | null,
];

/** Parses the result of {@linkcode revocationStatement}. */
export function parseRevocations(answer: string): readonly Revocation[] {
  const rows = JSON.parse(answer) as readonly RevocationRow[];
  return rows.map(([claim, value, issuedBefore, until]) => ({ claim, value, issuedBefore, until }));
}

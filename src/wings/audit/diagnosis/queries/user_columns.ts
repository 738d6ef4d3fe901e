/** Finds columns that refer to users, which examples of policies need, and columns of secrets. @module */

/** Names of tables of users, and typical ends of names of their columns. */
const users = "users?|owners?|authors?|customers?|accounts?|members?|people|persons?|profiles?";

/** Returns a condition on a row of `pg_attribute`: the column refers to a user. Either its name is
 * typical, such as `owner`, `user_id` or `sub`, or it is a foreign key to a table of users. */
export function refersToUser(column: string): string {
  return `(
    ${column}.attname ~* '(^|_)(owner|user|sub|(author|customer|account|member|owner|user)_?id)$|^(created|owned)_by$'
    or exists (
      select from pg_constraint k join pg_class t on t.oid = k.confrelid
      where k.contype = 'f' and k.conrelid = ${column}.attrelid and k.conkey = array[${column}.attnum]
        and t.relname ~* '(^|_)(${users})$'
    )
  )`;
}

/** Returns a condition on a row of `pg_attribute`: a column of texts or bytes whose name is typical
 * for a secret. */
export function looksSecret(column: string): string {
  return `(
    ${column}.attname ~* 'passw(or)?d|secret|(api|private)_?key|token$|(^|_)(pass|pwd|token|session)(_|$)'
    and exists (
      select from pg_catalog.pg_type t where t.oid = ${column}.atttypid and t.typcategory in ('S', 'U')
    )
  )`;
}

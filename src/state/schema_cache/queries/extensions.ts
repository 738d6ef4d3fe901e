/** Objects of extensions, which do not belong to an API. @module */

/** Returns a condition: no extension made the row `alias` of a catalogue. */
export function isNotOfExtension(catalogue: "pg_class" | "pg_proc", alias: string): string {
  return `not exists (select from pg_depend member where member.classid = '${catalogue}'::regclass
      and member.objid = ${alias}.oid and member.deptype = 'e')`;
}

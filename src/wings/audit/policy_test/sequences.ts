/** Makes sequences return the same values after each rollback. @module */
import type { CaseState } from "./case_handler.ts";

/** Returns two statements as texts. Both set the login's sequences above ids that fixtures may have. */
const query = `
select coalesce(string_agg(format('alter sequence %s restart with %s', s.name, s.next), '; '), 'select'),
  concat('select ', string_agg(format('setval(%L, %s, false)', s.name, s.next), ', '))
from (
  select format('%I.%I', schemaname, sequencename) as name, least(greatest(
    coalesce(last_value, start_value) + 1000000 * increment_by, min_value), max_value) as next
  from pg_sequences where pg_has_role(sequenceowner, 'USAGE') and schemaname !~ '^pg_'
) s`;

/** Gives all sequences new files in the open transaction, so that its rollback restores them.
 * Other sessions that need a next value wait. Resolves with a state in which writes get the same values. */
export async function holdSequences(state: CaseState): Promise<CaseState> {
  const { database, send } = state;
  const [[hold, reset] = []] = await database.run(query);
  // ALTER SEQUENCE RESTART makes a new file, which a rollback removes.
  await database.run(hold!);
  return {
    ...state,
    async send(caller, request) {
      if (!/^(?:GET|HEAD)$/.test(request.method)) await database.run(reset!);
      return await send(caller, request);
    },
  };
}

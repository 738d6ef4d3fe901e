/** Draws the same values from sequences after each rollback. @module */
import type { CaseState } from "./case_handler.ts";

/** Statements for the next values of the sequences that the login owns, above ids that fixtures may have. */
const query = `
select coalesce(string_agg(format('alter sequence %s restart with %s', s.name, s.next), '; '), 'select'),
  concat('select ', string_agg(format('setval(%L, %s, false)', s.name, s.next), ', '))
from (
  select format('%I.%I', schemaname, sequencename) as name, least(greatest(
    coalesce(last_value, start_value) + 1000000 * increment_by, min_value), max_value) as next
  from pg_sequences where pg_has_role(sequenceowner, 'USAGE') and schemaname !~ '^pg_'
) s`;

/**
 * Gives the open transaction files of its own for all sequences, so that they are as before after its rollback.
 * Other sessions wait for their next value. Resolves with a state whose writes find the same values.
 */
export async function holdSequences(state: CaseState): Promise<CaseState> {
  const { database, send } = state;
  const [[hold, reset] = []] = await database.run(query);
  // PostgreSQL makes a file for the sequence, since RESTART can be rolled back.
  await database.run(hold!);
  return {
    ...state,
    async send(caller, request) {
      if (!/^(?:GET|HEAD)$/.test(request.method)) await database.run(reset!);
      return await send(caller, request);
    },
  };
}

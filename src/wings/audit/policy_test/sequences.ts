/** Lets requests that roll back draw the same values from sequences each time. @module */
import type { SavepointDatabase } from "../../../database/connection/savepoint_database.ts";

/** Statements for the next values of the sequences that the login owns, above ids that fixtures may have. */
const query = `
select string_agg(format('alter sequence %s restart with %s', s.name, s.next), '; '),
  'select ' || string_agg(format('setval(%L, %s, false)', s.name, s.next), ', ')
from (
  select format('%I.%I', schemaname, sequencename) as name, least(greatest(
    coalesce(last_value, start_value) + 1000000 * increment_by, min_value), max_value) as next
  from pg_sequences where pg_has_role(sequenceowner, 'USAGE') and schemaname !~ '^pg_'
) s`;

/**
 * Gives the open transaction files of its own for all sequences, so that they are as before after its rollback.
 * Other sessions wait for their next value. Resolves with the function that sets the values back.
 */
export async function holdSequences(database: SavepointDatabase): Promise<() => Promise<void>> {
  const [[hold = null, reset = null] = []] = await database.run(query);
  // PostgreSQL makes a file for the sequence, since RESTART can be rolled back.
  if (hold !== null) await database.run(hold);
  return async () => {
    if (reset !== null) await database.run(reset);
  };
}

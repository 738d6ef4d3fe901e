/** Sends requests of a caller again after changes of the database. They draw the same values from sequences. @module */
import type { CaseRequest } from "./case_file.ts";
import type { CallerRole, CaseState } from "./case_handler.ts";

/** Requests of a caller, with their first answers. */
export class Probe {
  readonly answers = new Map<CaseRequest, string>();

  constructor(
    readonly state: CaseState,
    readonly caller: CallerRole,
    /** Reads an answer as the text to compare. */
    private readonly read: (request: CaseRequest, response: Response) => Promise<string>,
  ) {}

  /** Sends the requests that have no answer yet. */
  async record(requests: Iterable<CaseRequest>): Promise<void> {
    for (const request of requests) {
      if (!this.answers.has(request)) this.answers.set(request, await this.#ask(request));
    }
  }

  /** Sends recorded requests again. Yields those with another answer, and that answer. */
  async *differences(requests: Iterable<CaseRequest>) {
    for (const request of requests) {
      const answer = await this.#ask(request);
      if (answer !== this.answers.get(request)) yield [request, answer] as const;
    }
  }

  async #ask(request: CaseRequest): Promise<string> {
    return await this.read(request, await this.state.send(this.caller.caller, request));
  }
}

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

/** Compares a caller's responses in worlds: the fixtures, and states whose hidden rows differ. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import type { AcceptedLeak, CaseRequest } from "../policy_test/case_file.ts";
import {
  type CallerRole,
  type CaseState,
  type NamedCases,
  withCases,
} from "../policy_test/case_handler.ts";
import { holdSequences } from "../policy_test/sequences.ts";
import { callerRequests, fixtureRows, keyOf } from "../policy_test/targets.ts";
import { answerDifference, wholeAnswer } from "./answers.ts";
import type { Change } from "./tables.ts";
import { applyChange, type HiddenRows, readHiddenRows } from "./worlds.ts";

/** A leak that no line of the file accepts, or a line for a leak that does not exist. `line` is null
 * for a leak. */
export interface IsolationFinding extends Pick<AcceptedLeak, "key"> {
  readonly line: number | null;
  readonly text: string;
}

/** The time limit of each caller. */
export interface TimeLimit {
  readonly msPerCaller: number;
  readonly now: () => number;
  /** Receives a line about each caller before its requests. */
  readonly report: (line: string) => void;
}

/** Runs a file in one transaction, and rolls it back. Resolves with the number of compared requests,
 * and sentences about parts that were not compared. Rejects as `withCases` does. */
export async function isolateFile(named: NamedCases, { msPerCaller, now, report }: TimeLimit) {
  const { file } = named;
  return await withCases(named, async (plain, callers) => {
    const state = await holdSequences(plain);
    const [[refresh] = []] = await state.database.run(refreshQuery);
    await state.database.run(refresh!);
    const leaks = new Map<string, string>();
    const notes: string[] = [];
    let requests = 0;
    for (const caller of callers) {
      const start = now();
      const isOver = (share: number) => now() - start > msPerCaller * share;
      const run = new CallerRun(state, caller, refresh!, isOver, report);
      await run.compare(file.cases.filter(({ name }) => name === caller.name), leaks);
      requests += run.answers.size;
      notes.push(...run.notes);
    }
    return { findings: findingsOf(leaks, file.leaks, notes), requests, notes };
  });
}

/** Statements that refresh materialized views, so that they show the fixtures. */
const refreshQuery = `
select coalesce(string_agg(format('refresh materialized view %s', c.oid::regclass), '; ' order by c.oid), 'select')
from pg_class c where c.relkind = 'm' and c.relispopulated and pg_has_role(c.relowner, 'USAGE')`;

function findingsOf(
  leaks: ReadonlyMap<string, string>,
  accepted: readonly AcceptedLeak[],
  notes: readonly string[],
): readonly IsolationFinding[] {
  const forms = (key: string) => [key, key.replace(/^\S+/, "*")];
  const lines = new Set(accepted.map(({ key }) => key));
  const keys = new Set([...leaks.keys()].flatMap(forms));
  const isWhole = !notes.some((note) => note.includes("not reached"));
  return [
    ...[...leaks].filter(([key]) => !forms(key).some((each) => lines.has(each)))
      .map(([key, text]) => ({ key, line: null, text })),
    ...accepted.filter(({ key }) => isWhole && !keys.has(key))
      .map(({ key, line }) => ({ key, line, text: `accepts no leak: ${key}` })),
  ];
}

/** Sends the requests of a caller in each world. */
class CallerRun {
  /** Sentences about what was not compared. */
  readonly notes = new Set<string>();
  /** The answers before any change, by request. */
  readonly answers = new Map<CaseRequest, string>();
  readonly #unread = new Set<string>();

  constructor(
    private readonly state: CaseState,
    private readonly caller: CallerRole,
    /** SQL that refreshes materialized views. */
    private readonly refresh: string,
    /** Returns whether a share of the caller's time is over. The share is a number up to 1. */
    private readonly isOver: (share: number) => boolean,
    private readonly report: TimeLimit["report"],
  ) {}

  /** Compares the answers in all worlds, and adds leaks by their keys. */
  async compare(cases: readonly CaseRequest[], leaks: Map<string, string>): Promise<void> {
    const { state, caller, caller: { name }, notes } = this;
    const tables = await readHiddenRows(state, caller);
    const hidden = tables.filter((each) => each.hidden.length > 0);
    const requests = [...cases, ...await this.#requests(tables)];
    this.report(`${name}: ${requests.length} requests, ${hidden.length} tables with hidden rows`);
    // The first answers end at 0.22 of the time, and the changes of the worlds at 0.32, 0.57 and 0.82.
    for (const request of this.#timely(requests, 0.22)) {
      this.answers.set(request, await this.#ask(request));
    }
    for (const [at, change] of (["changed", "deleted", "inserted"] as const).entries()) {
      const diffs = await this.#after(change, hidden, 0.32 + 0.25 * at);
      for (const request of diffs.keys()) {
        if (await this.#ask(request) === this.answers.get(request)) continue;
        diffs.delete(request);
        notes.add(`${name} ${request.method} ${request.target}: the answers always differ`);
      }
      // Finds what causes a difference: one row, the rows of a table, or the rows of several tables.
      const parts = [
        ...hidden.flatMap((table) => [
          ...table.hidden.map((row) => [{ ...table, hidden: [row] }]),
          [table],
        ]),
        hidden,
      ];
      for (const part of parts) {
        if (diffs.size === 0) break;
        const own = part === hidden ? diffs : await this.#after(change, part, 1, diffs.keys());
        for (const [request, after] of own) {
          const answers = [this.answers.get(request)!, after] as const;
          const [key, text] = leakOf(name, { change, request, answers, tables: part });
          if (!leaks.has(key)) leaks.set(key, text);
          diffs.delete(request);
        }
      }
    }
    const others = tables.filter((each) => !hidden.includes(each)).map(({ table }) => table.sql);
    if (others.length > 0) notes.add(`${name}, no hidden rows: ${others.join(", ")}`);
    if (this.#unread.size > 0) notes.add(`${name}, not reached: ${[...this.#unread].join(", ")}`);
  }

  async #requests(tables: readonly HiddenRows[]): Promise<readonly CaseRequest[]> {
    const byKey = new Map(tables.map((each) => [keyOf(each.table), each]));
    const others = fixtureRows(this.state);
    return await callerRequests(this.state, this.caller.role, async (relation) => {
      const table = byKey.get(keyOf(relation));
      if (table === undefined) return await others(relation);
      const rows = table.hidden.slice(0, 2).map(([, values]) => values);
      return { rows, visible: table.visible?.[1] ?? null };
    });
  }

  async #ask(request: CaseRequest): Promise<string> {
    return await wholeAnswer(request, await this.state.send(this.caller.caller, request));
  }

  /** Yields requests until a share of the time is used. */
  *#timely(requests: Iterable<CaseRequest>, share: number): Generator<CaseRequest> {
    for (const request of requests) {
      if (this.isOver(share)) this.#unread.add(pathOf(request));
      else yield request;
    }
  }

  /** Changes rows until a share of the time is over. Resolves with the responses that differ afterwards. */
  async #after(
    change: Change,
    tables: readonly HiddenRows[],
    share: number,
    requests: Iterable<CaseRequest> = this.answers.keys(),
  ): Promise<Map<CaseRequest, string>> {
    const { database } = this.state;
    return await database.within(async () => {
      let count = 0;
      for (const each of tables) {
        if (this.isOver(share)) this.#unread.add(`rows of ${each.table.sql}`);
        else count += await applyChange(database, change, each);
      }
      const diffs = new Map<CaseRequest, string>();
      if (count === 0) return diffs;
      await database.run(this.refresh);
      for (const request of this.#timely(requests, 1)) {
        const answer = await this.#ask(request);
        if (answer !== this.answers.get(request)) diffs.set(request, answer);
      }
      return diffs;
    });
  }
}

/** Returns key and text of a leak. `tables` is the table with the changed row, or all tables. */
function leakOf(
  caller: string,
  { change, request, answers, tables }: {
    readonly change: Change;
    readonly request: CaseRequest;
    readonly answers: readonly [before: string, after: string];
    readonly tables: readonly HiddenRows[];
  },
) {
  const { method, target, body } = request;
  const words = wordsOf(`${percentDecode(target, "replace")} ${body ?? ""}`);
  const causes = tables.flatMap(({ table }) =>
    table.causes.filter(({ isConstraint, word }) =>
      isConstraint
        ? answers.some((answer) => answer.includes(`${word}\\"`))
        : words.includes(wordsOf(word))
    ).map((cause) => ({ ...cause, table }))
  );
  const { table } = tables[0]!;
  const why = "policies that do not restrict this request";
  const cause = causes[0] ?? { table, name: keyOf(table), why };
  const [relation, object] = [keyOf(cause.table), cause.name].map((name) =>
    name.replace(/\s/g, "%20")
  );
  const verb = method.replace("HEAD", "GET");
  const key = `${caller} ${verb} ${pathOf(request)} of ${relation} by ${object}`;
  const row = tables.length === 1 ? tables[0]!.hidden[0]![1] : {};
  const places = table.keys.filter((each) => each in row).map((each) => `${each}=${row[each]}`);
  const subject = [keyOf(cause.table), ...places, change].join(" ");
  const line = [caller, method, target, body ?? []].flat().join(" ");
  const text = `${line}: ${subject}: ${answerDifference(...answers)}; ${cause.name}, ${cause.why}.`;
  return [key, `${text} To accept it: leak: ${key}: REASON`] as const;
}

/** Returns the words of a text, each between spaces, so that a search finds whole words only. */
const wordsOf = (text: string) => ` ${text.split(/[^\p{L}\p{N}_$]+/u).join(" ")} `;

const pathOf = ({ target }: CaseRequest) => target.replace(/\?.*/, "");

/** Compares the answers of callers between the fixtures and worlds with other hidden rows. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import type { AcceptedLeak, CaseCaller, CaseRequest } from "../policy_test/case_file.ts";
import {
  type CaseState,
  checkRoles,
  type NamedCases,
  requestSender,
  withCaseState,
} from "../policy_test/case_handler.ts";
import { holdSequences } from "../policy_test/sequences.ts";
import { callerRequests, fixtureRows, keyOf, roleOf } from "../policy_test/targets.ts";
import { answerDifference, answersDiffer, answerText } from "./answers.ts";
import { explainLeak } from "./tables.ts";
import { applyChange, type Change, type HiddenRows, readHiddenRows } from "./worlds.ts";

/** A leak that no line of the file accepts, or a line that accepts no leak. */
export interface IsolationFinding {
  /** As {@linkcode AcceptedLeak}. */
  readonly key: string;
  /** Null for a leak. */
  readonly line: number | null;
  readonly text: string;
}

/** The result of a file. */
export interface IsolationResult {
  readonly findings: readonly IsolationFinding[];
  /** Number of requests that were compared. */
  readonly requests: number;
  /** Sentences about what was not compared. */
  readonly notes: readonly string[];
}

/** A limit of the time, which the callers of all files share. */
export interface TimeLimit {
  readonly deadline: number;
  readonly now: () => number;
  /** Number of callers to come. */
  callers: number;
  /** Takes a line for each caller before its requests. Default: no reports. */
  readonly report?: (line: string) => void;
}

/** Runs a file in one transaction, which rolls back. Rejects as `withFixtures` does. */
export async function isolateFile(named: NamedCases, limit: TimeLimit): Promise<IsolationResult> {
  const { name, file, setup } = named;
  return await withCaseState(setup, { name, text: file.fixtures }, async (state) => {
    const { database } = state;
    const roles = Array.from(file.callers.values(), (caller) => roleOf(caller, state));
    await checkRoles(state, name, roles);
    const [[defaults = null, columns = null] = []] = await database.run(defaultsQuery);
    if (defaults !== null) await database.run(defaults);
    const [[views = null] = []] = await database.run(viewsQuery);
    const refresh = async () => {
      if (views !== null) await database.run(views);
    };
    await refresh();
    const notes = new Set(columns === null ? [] : [`constant defaults: ${columns}`]);
    const world = { state, refresh, reset: await holdSequences(database) };
    const leaks = new Map<string, string>();
    let requests = 0;
    for (const [caller, claims] of file.callers) {
      const role = roleOf(claims, state);
      if (role !== null) {
        const run = await CallerRun.open(world, { named, name: caller, claims, role, limit });
        requests += await run.compare(leaks, notes);
      }
      limit.callers--;
    }
    return { findings: findingsOf(leaks, file.leaks, notes), requests, notes: [...notes] };
  });
}

/** Defaults that differ at each call become constants. */
const defaultsQuery = `
select string_agg(format('alter table %s alter %I set default %s', d.adrelid::regclass, a.attname,
    case a.atttypid when 'uuid'::regtype then quote_literal('00000000-0000-4000-8000-000000900004') else 'now()' end), '; '),
  string_agg(format('%s.%I', d.adrelid::regclass, a.attname), ', ')
from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''
  join pg_class c on c.oid = d.adrelid and c.relkind in ('r', 'p') and pg_has_role(c.relowner, 'USAGE') and c.oid >= 16384
where case a.atttypid when 'uuid'::regtype then pg_get_expr(d.adbin, d.adrelid) ~ 'uuid'
  else pg_get_expr(d.adbin, d.adrelid) ~ '(clock|statement)_timestamp|timeofday' end`;

/** Materialized views, which have the rows of the last refresh. */
const viewsQuery = `
select string_agg(format('refresh materialized view %s', c.oid::regclass), '; ' order by c.oid)
from pg_class c where c.relkind = 'm' and c.relispopulated and pg_has_role(c.relowner, 'USAGE')`;

function findingsOf(
  leaks: ReadonlyMap<string, string>,
  accepted: readonly AcceptedLeak[],
  notes: ReadonlySet<string>,
): readonly IsolationFinding[] {
  const forms = (key: string) => [key, key.replace(/^\S+/, "*")];
  const lines = new Set(accepted.map(({ key }) => key));
  const found = new Set([...leaks.keys()].flatMap(forms));
  const isWhole = ![...notes].some((note) => note.includes("not reached"));
  return [
    ...[...leaks].filter(([key]) => !forms(key).some((each) => lines.has(each)))
      .map(([key, text]) => ({ key, line: null, text })),
    ...accepted.filter(({ key }) => isWhole && !found.has(key))
      .map(({ key, line }) => ({ key, line, text: `accepts no leak: ${key}` })),
  ];
}

/** The database of a file. */
interface World {
  readonly state: CaseState;
  /** Refreshes materialized views. */
  readonly refresh: () => Promise<void>;
  /** Sets sequences back. */
  readonly reset: () => Promise<void>;
}

interface CallerOptions {
  readonly named: NamedCases;
  readonly name: string;
  /** Null without a token. */
  readonly claims: CaseCaller | null;
  readonly role: string;
  readonly limit: TimeLimit;
}

const changes: readonly Change[] = ["changed", "deleted", "inserted"];

/** The requests of a caller, with their answers. */
class CallerRun {
  readonly #answers: string[] = [];
  readonly #unread = new Set<string>();
  readonly #send: ReturnType<typeof requestSender>;

  private constructor(
    private readonly world: World,
    private readonly options: CallerOptions,
    private readonly tables: readonly HiddenRows[],
    private readonly requests: readonly CaseRequest[],
    /** Whether eighths of the caller's time are over. */
    private readonly isOver: (eighths: number) => boolean,
  ) {
    this.#send = requestSender(world.state, options.named.setup);
  }

  static async open(world: World, options: CallerOptions): Promise<CallerRun> {
    const { named: { file }, name, claims, role, limit: { now, deadline, callers } } = options;
    const start = now();
    const isOver = (eighths: number) =>
      (now() - start) * 8 > (deadline - start) / callers * eighths;
    const tables = await readHiddenRows(world.state, claims);
    const hidden = new Map(tables.map((each) => [keyOf(each.table), each]));
    const others = fixtureRows(world.state);
    const all = await callerRequests(world.state, role, async (relation) => {
      const own = hidden.get(keyOf(relation));
      if (own === undefined) return await others(relation);
      const rows = own.hidden.slice(0, 2).map(([, values]) => values);
      return { rows, visible: own.visible?.[1] ?? null };
    });
    const requests = [
      ...file.cases.filter((each) => each.name === name),
      // A volatile function may do what no rollback undoes.
      ...[...all].flatMap(([key, list]) =>
        key.endsWith("()") ? list.filter(({ method }) => method === "GET") : list
      ),
    ];
    return new CallerRun(world, options, tables, requests, isOver);
  }

  /** Adds leaks, and sentences about what was not compared. Resolves with the number of requests. */
  async compare(leaks: Map<string, string>, notes: Set<string>): Promise<number> {
    const { name, limit } = this.options;
    const tables = this.tables.filter(({ hidden }) => hidden.length > 0).length;
    limit.report?.(`${name}: ${this.requests.length} requests, ${tables} tables with hidden rows`);
    // The answers have 1.8 eighths of the time. Each world has 2, of which 0.8 are for its changes.
    for (const request of this.requests) {
      if (this.isOver(1.8)) this.#unread.add(pathOf(request));
      else this.#answers.push(await this.#ask(request));
    }
    for (const [at, change] of changes.entries()) {
      const found = new Map<number, string>();
      await this.#within(change, this.tables, {
        eighths: 2.6 + 2 * at,
        use: () => this.#differences(found),
      });
      for (const index of found.keys()) {
        const { method, target } = this.requests[index]!;
        if (!await this.#difference(index)) continue;
        found.delete(index);
        notes.add(`${name} ${method} ${target}: the answers always differ`);
      }
      await this.#explain(change, found, leaks);
    }
    const empty = this.tables.filter(({ hidden }) => hidden.length === 0).map(({ table }) =>
      table.sql
    );
    if (empty.length > 0) notes.add(`${name}, no hidden rows: ${empty.join(", ")}`);
    if (this.#unread.size > 0) notes.add(`${name}, not reached: ${[...this.#unread].join(", ")}`);
    return this.#answers.length;
  }

  async #ask(request: CaseRequest): Promise<string> {
    if (!/^(?:GET|HEAD)$/.test(request.method)) await this.world.reset();
    return await answerText(request, await this.#send(this.options.claims, request));
  }

  /** Resolves with the answer if it differs from the first one, else with null. */
  async #difference(index: number): Promise<string | null> {
    const request = this.requests[index]!;
    const other = await this.#ask(request);
    return answersDiffer(request, this.#answers[index]!, other) ? other : null;
  }

  async #differences(found: Map<number, string>): Promise<void> {
    for (const index of this.#answers.keys()) {
      if (this.isOver(8)) {
        this.#unread.add(pathOf(this.requests[index]!));
        continue;
      }
      const other = await this.#difference(index);
      if (other !== null) found.set(index, other);
    }
  }

  /** Runs `use` after changes of the rows, unless no change is possible. */
  #within(
    change: Change,
    tables: readonly HiddenRows[],
    { eighths, use }: { readonly eighths: number; readonly use: () => Promise<void> },
  ): Promise<void> {
    const { state: { database }, refresh } = this.world;
    return database.within(async () => {
      let count = 0;
      for (const each of tables) {
        if (this.isOver(eighths)) this.#unread.add(`rows of ${each.table.sql}`);
        else count += await applyChange(database, change, each);
      }
      if (count === 0) return;
      await refresh();
      await use();
    });
  }

  /** Finds the row whose change each difference needs. */
  async #explain(
    change: Change,
    found: Map<number, string>,
    leaks: Map<string, string>,
  ): Promise<void> {
    for (const table of this.tables) {
      // Some changes need changes of other rows of the table.
      for (const hidden of [...table.hidden.map((row) => [row]), table.hidden]) {
        if (found.size === 0 || hidden.length === 0) break;
        const use = async () => {
          for (const index of found.keys()) {
            const other = await this.#difference(index);
            if (other === null) continue;
            this.#add(leaks, { change, index, other, tables: [{ ...table, hidden }] });
            found.delete(index);
          }
        };
        await this.#within(change, [{ ...table, hidden }], { eighths: 8, use });
      }
    }
    // The others need changes of several tables.
    for (const [index, other] of found) {
      this.#add(leaks, { change, index, other, tables: this.tables });
    }
  }

  #add(leaks: Map<string, string>, { change, index, other, tables }: ChangedAnswer): void {
    const request = this.requests[index]!;
    const { method, target, body } = request;
    const answers = [this.#answers[index]!, other] as const;
    const words = wordsOf(`${percentDecode(target, "replace")} ${body ?? ""}`);
    const [table, { name, why }] = explainLeak(
      tables.map((each) => each.table),
      ({ kind, word }) =>
        kind === "constraint"
          ? answers.some((answer) => answer.includes(`${word}\\"`))
          : words.includes(wordsOf(word)),
    );
    const object = name.replace(/\s/g, "%20");
    const relation = keyOf(table).replace(/\s/g, "%20");
    const caller = this.options.name;
    const verb = method.replace("HEAD", "GET");
    const key = `${caller} ${verb} ${pathOf(request)} of ${relation} by ${object}`;
    const [row] = tables.length === 1 ? tables[0]!.hidden : [];
    const keys = table.columns.filter(({ isKey }) => isKey).map((each) =>
      each.name.replaceAll('"', "")
    );
    const parts = row === undefined ? [] : keys.map((each) => `${each}=${row[1][each]}`);
    const subject = [keyOf(table), ...parts, change].join(" ");
    const line = [caller, method, target, ...body === null ? [] : [body]].join(" ");
    const text = `${line}: ${subject}: ${answerDifference(...answers)}; ${name}, ${why}.`;
    if (!leaks.has(key)) leaks.set(key, `${text} To accept it: leak: ${key}: REASON`);
  }
}

/** An answer that differs after a change of rows. */
interface ChangedAnswer {
  readonly change: Change;
  /** Number of the request. */
  readonly index: number;
  readonly other: string;
  /** The table with the row, or all. */
  readonly tables: readonly HiddenRows[];
}

/** Returns the words of a text between spaces, to search whole words in it. */
const wordsOf = (text: string) => ` ${text.split(/[^\p{L}\p{N}_$]+/u).join(" ")} `;

const pathOf = ({ target }: CaseRequest) => target.replace(/\?.*/, "");

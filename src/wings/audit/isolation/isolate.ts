/** Compares the answers of callers between the fixtures and worlds with other hidden rows. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";
import { percentDecode } from "../../../base/http/percent.ts";
import type { AcceptedLeak, CaseCaller, CaseRequest } from "../policy_test/case_file.ts";
import {
  type CaseState,
  checkRoles,
  type NamedCases,
  requestSender,
  withCaseState,
} from "../policy_test/case_handler.ts";
import { jsonOf } from "../policy_test/expectation.ts";
import { callsOf, requestsOf } from "../policy_test/requests.ts";
import { holdSequences } from "../policy_test/sequences.ts";
import { fixtureRows, readTargets, roleOf } from "../policy_test/targets.ts";
import type { Cause, PolicyTable } from "./tables.ts";
import {
  applyChange,
  type Change,
  type HiddenRows,
  readHiddenRows,
  type StoredRow,
} from "./worlds.ts";

/** Requests of a caller whose answers depend on rows that the caller cannot see. */
export interface Leak {
  /** As {@linkcode AcceptedLeak}. */
  readonly key: string;
  readonly name: string;
  /** The first of the requests. */
  readonly request: CaseRequest;
  /** `api.doc id=2 deleted: status 200 became 404; api.docs, a view that runs as its owner` */
  readonly text: string;
  count: number;
}

/** A leak that no line of the file accepts, or a line that accepts no leak. */
export interface IsolationFinding {
  readonly key: string;
  /** Null for a leak. */
  readonly line: number | null;
  readonly text: string;
}

/** The result of a file. */
export interface IsolationResult {
  readonly findings: readonly IsolationFinding[];
  readonly requests: number;
  /** Sentences about what was not compared. */
  readonly notes: readonly string[];
}

/** A limit of the time: the callers of all files share what is left. */
export interface TimeLimit {
  readonly deadline: number;
  readonly now: () => number;
  callers: number;
}

const changes: readonly Change[] = ["changed", "deleted", "inserted"];

/** Runs a file in one transaction, which rolls back. Rejects as `withFixtures` does. */
export async function isolateFile(named: NamedCases, limit: TimeLimit): Promise<IsolationResult> {
  const { name, file, setup } = named;
  return await withCaseState(setup, { name, text: file.fixtures }, async (state) => {
    const callers = Array.from(
      file.callers,
      ([caller, claims]) => [caller, claims, roleOf(claims, state)] as const,
    );
    await checkRoles(state, name, callers.map(([, , role]) => role));
    const [[defaults = null, columns = null] = []] = await state.database.run(defaultsQuery);
    if (defaults !== null) await state.database.run(defaults);
    const notes = columns === null ? [] : [`constant defaults: ${columns}`];
    const [[refresh = null] = []] = await state.database.run(refreshQuery);
    const run = {
      state,
      named,
      limit,
      notes,
      refresh: refresh ?? "",
      leaks: new Map(),
      reset: await holdSequences(state.database),
    };
    if (run.refresh !== "") await state.database.run(run.refresh);
    let requests = 0;
    for (const [caller, claims, role] of callers) {
      if (role !== null) requests += await isolateCaller(run, caller, claims, role);
      limit.callers--;
    }
    return {
      findings: findingsOf([...run.leaks.values()], file.leaks, notes),
      requests,
      notes: [...new Set(notes)],
    };
  });
}

function findingsOf(
  leaks: readonly Leak[],
  accepted: readonly AcceptedLeak[],
  notes: readonly string[],
): readonly IsolationFinding[] {
  const accepts = (line: AcceptedLeak, { key }: Leak) =>
    line.key === key || line.key === key.replace(/^\S+/, "*");
  const open = leaks.filter((leak) => !accepted.some((line) => accepts(line, leak)));
  const unused = accepted.filter((line) => !leaks.some((leak) => accepts(line, leak)));
  const isWhole = !notes.some((note) => note.includes("not reached"));
  return [
    ...open.map(({ key, name, request: { method, target, body }, text, count }) => {
      const request = [name, method, target, body ?? []].flat().join(" ");
      const more = count === 1 ? "" : ` and ${count - 1} more`;
      return {
        key,
        line: null,
        text: `${request}${more}: ${text}. To accept it: leak: ${key}: REASON`,
      };
    }),
    ...isWhole
      ? unused.map(({ key, line }) => ({ key, line, text: `accepts no leak: ${key}` }))
      : [],
  ];
}

/** Defaults that differ at each call, as a constant. */
const defaultsQuery = `
select string_agg(format('alter table %s alter %I set default %s', d.adrelid::regclass, a.attname,
    case a.atttypid when 'uuid'::regtype then quote_literal('00000000-0000-4000-8000-000000900004') else 'now()' end), '; '),
  string_agg(format('%s.%I', d.adrelid::regclass, a.attname), ', ')
from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''
  join pg_class c on c.oid = d.adrelid and c.relkind in ('r', 'p') and pg_has_role(c.relowner, 'USAGE') and c.oid >= 16384
where case a.atttypid when 'uuid'::regtype then pg_get_expr(d.adbin, d.adrelid) ~ 'uuid'
  else pg_get_expr(d.adbin, d.adrelid) ~ '(clock|statement)_timestamp|timeofday' end`;

const refreshQuery = `
select string_agg(format('refresh materialized view %s', c.oid::regclass), '; ' order by c.oid)
from pg_class c where c.relkind = 'm' and c.relispopulated and pg_has_role(c.relowner, 'USAGE')`;

interface IsolationRun {
  readonly state: CaseState;
  readonly named: NamedCases;
  readonly limit: TimeLimit;
  readonly notes: string[];
  /** SQL after each change. */
  readonly refresh: string;
  /** Sets sequences back. */
  readonly reset: () => Promise<void>;
  readonly leaks: Map<string, Leak>;
}

/** Resolves with the number of requests. */
async function isolateCaller(
  run: IsolationRun,
  name: string,
  caller: CaseCaller | null,
  role: string,
): Promise<number> {
  const { state, limit, notes, named: { file, setup } } = run;
  // Eighths of the time: 1.8 for the answers, then 2 for each world, of which 0.8 for its changes.
  const start = limit.now();
  const share = (limit.deadline - start) / limit.callers;
  const isOver = (eighths: number) => limit.now() > start + share * eighths / 8;
  const tables = await readHiddenRows(state, caller);
  const requests = [
    ...file.cases.filter((each) => each.name === name),
    ...await generatedRequests(state, role, tables),
  ];
  const send = requestSender(state, setup);
  const ask = async (request: CaseRequest) => {
    if (!/^(?:GET|HEAD)$/.test(request.method)) await run.reset();
    return await answerText(request, await send(caller, request));
  };
  const answers: string[] = [];
  for (const request of requests) {
    if (isOver(1.8)) break;
    answers.push(await ask(request));
  }
  const unread = requests.slice(answers.length).map(pathOf);
  const within = (
    change: Change,
    changed: readonly HiddenRows[],
    over: number,
    use: () => Promise<void>,
  ) =>
    state.database.within(async () => {
      let count = 0;
      for (const each of changed) {
        if (isOver(over)) unread.push(`rows of ${each.table.sql}`);
        else count += await applyChange(state.database, change, each);
      }
      if (count === 0) return;
      if (run.refresh !== "") await state.database.run(run.refresh);
      await use();
    });
  for (const [at, change] of changes.entries()) {
    const open = new Map<number, string>();
    const report = (index: number, other: string, table: PolicyTable | null, row?: StoredRow) => {
      const named = table === null ? tables.map((each) => each.table) : [table];
      addLeak(run.leaks, { name, request: requests[index]!, change, tables: named, row }, [
        answers[index]!,
        other,
      ]);
    };
    await within(change, tables, 2.6 + 2 * at, async () => {
      for (const [index, answer] of answers.entries()) {
        if (isOver(8)) {
          unread.push(...requests.slice(index).map(pathOf));
          break;
        }
        const other = await ask(requests[index]!);
        if (differs(requests[index]!, answer, other)) open.set(index, other);
      }
    });
    for (const index of open.keys()) {
      if (!differs(requests[index]!, answers[index]!, await ask(requests[index]!))) continue;
      open.delete(index);
      notes.push(
        `${name} ${requests[index]!.method} ${requests[index]!.target}: the answers always differ`,
      );
    }
    for (const table of tables) {
      const rows = table.hidden.map((row) => [row]);
      // Some changes need changes of other rows of the table.
      for (const hidden of [...rows, table.hidden]) {
        if (open.size === 0 || hidden.length === 0) break;
        await within(change, [{ ...table, hidden }], 8, async () => {
          for (const index of open.keys()) {
            const other = await ask(requests[index]!);
            if (!differs(requests[index]!, answers[index]!, other)) continue;
            report(index, other, table.table, hidden[0]);
            open.delete(index);
          }
        });
      }
    }
    // The others need changes of several tables.
    for (const [index, other] of open) report(index, other, null, undefined);
  }
  if (unread.length > 0) notes.push(`${name}, not reached: ${[...new Set(unread)].join(", ")}`);
  const empty = tables.filter(({ hidden }) => hidden.length === 0).map(({ table }) => table.sql);
  if (empty.length > 0) {
    notes.push(`${name}, no hidden rows: ${empty.join(", ")}`);
  }
  return answers.length;
}

const pathOf = ({ target }: CaseRequest) => target.replace(/\?.*/, "");

/** Requests to all relations, and to functions that need no arguments. */
async function generatedRequests(state: CaseState, role: string, tables: readonly HiddenRows[]) {
  const { config, cache } = state.appState.snapshot;
  const targets = await readTargets(state, role, async (relation) => {
    const own = tables.find(({ table }) =>
      table.schema === relation.schema && table.name === relation.name
    );
    if (own === undefined) return await fixtureRows(state, relation);
    return {
      rows: own.hidden.slice(0, 2).map(([, values]) => values),
      visible: own.visible?.[1] ?? null,
    };
  });
  const schema = config.dbSchemas[0]!;
  const routines = cache!.routineNames(schema).flatMap((name) => cache!.routines({ schema, name }));
  return [
    ...targets.flatMap((each) =>
      requestsOf(each, { schema, hasAggregates: config.dbAggregatesEnabled })
    ),
    ...routines.flatMap(callsOf).filter(({ method }) => method === "GET"),
  ];
}

/** Returns the whole answer as text: status, headers, an empty line, body, entity tag. */
async function answerText({ method }: CaseRequest, response: Response): Promise<string> {
  const { status, headers } = response;
  // The tag of a row that a request wrote has the number of its transaction. The body shows its length.
  const etag = /^(?:GET|HEAD)$/.test(method) ? headers.get("etag") ?? "" : "";
  const lines = Array.from(headers, ([name, value]) => (
    name === "etag" || name === "content-length" && value !== "0" ? "" : `${name}: ${value}\n`
  ));
  const bytes = new Uint8Array(await response.arrayBuffer());
  const body = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  // Other bytes than UTF-8 keep their values.
  const text = body.includes("\uFFFD")
    ? new TextDecoder("latin1", { ignoreBOM: true }).decode(bytes)
    : body;
  return `status ${status}\n${lines.join("")}\n${text}\n${etag}`;
}

/** Without `order`, the order of rows is a choice of the planner, which depends on the size of tables. */
function differs({ target }: CaseRequest, before: string, after: string): boolean {
  if (before === after || /[?&]order=/.test(target)) return before !== after;
  const [one, other] = [before, after].map((text) => {
    const [head, body = ""] = text.split(/\n\n(.*)\n/s);
    return head + (JSON.stringify(unordered(jsonOf(body))) ?? text);
  });
  return one !== other;
}

/** Returns a JSON value whose arrays are sorted. */
function unordered(value: unknown): unknown {
  if (!Array.isArray(value)) {
    return isJsonObject(value)
      ? Object.entries(value).map(([name, each]) => [name, unordered(each)])
      : value;
  }
  return value.map((each) => JSON.stringify(unordered(each))).toSorted();
}

interface FoundLeak extends Pick<Leak, "name" | "request"> {
  readonly change: Change;
  /** The table of the row, or all. */
  readonly tables: readonly PolicyTable[];
  readonly row: StoredRow | undefined;
}

function addLeak(
  leaks: Map<string, Leak>,
  { name, request, change, tables, row }: FoundLeak,
  answers: readonly [string, string],
): void {
  const words = `${percentDecode(request.target, "replace")} ${request.body ?? ""}`.split(
    /[^\p{L}\p{N}_$]+/u,
  );
  const isNamed = ({ kind, word }: Cause) =>
    kind === "constraint"
      ? answers.some((answer) => answer.includes(`${word}\\"`))
      : words.includes(word);
  const found = kinds.flatMap((kind) =>
    tables.flatMap((table) =>
      table.causes.filter((cause) => cause.kind === kind && isNamed(cause)).map((cause) =>
        [table, cause] as const
      )
    )
  );
  const [table, cause] = found[0] ?? [tables[0]!, null];
  const relation = `${table.schema}.${table.name}`;
  const object = cause?.name ?? relation;
  const key = `${name} ${request.method.replace("HEAD", "GET")} ${
    pathOf(request)
  } of ${relation} by ${object}`;
  const known = leaks.get(key);
  if (known !== undefined) return void known.count++;
  const keys = table.columns.filter(({ isKey }) => isKey).map((column) =>
    column.name.replaceAll('"', "")
  );
  const values = keys.map((each) => row && `${each}=${row[1][each]}`).join(" ");
  const why = cause?.why ?? "policies that do not restrict this request";
  const text = `${relation} ${values} ${change}: ${differenceText(...answers)}; ${object}, ${why}`;
  leaks.set(key, { key, name, request, text, count: 1 });
}

const kinds = ["constraint", "function", "view", "policy"] as const;

/** Returns the line of the head that differs, or the text at the first byte of the body that differs. */
function differenceText(before: string, after: string): string {
  let at = 0;
  while (before[at] === after[at]) at++;
  const body = before.indexOf("\n\n") + 2;
  const start = Math.max(before.lastIndexOf("\n", at - 1) + 1, at < body ? 0 : at - 20);
  const [old, other] = [before, after].map((text) =>
    text.slice(start).split("\n", 1)[0]!.slice(0, 60)
  );
  const byte = new TextEncoder().encode(before.slice(body, at)).length;
  return `${at < body ? "" : `byte ${byte}: `}${old} became ${other}`;
}

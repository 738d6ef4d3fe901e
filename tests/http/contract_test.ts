/** Contracts of databases: what a change breaks, and that names cannot forge a line. */
import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { existsSync } from "node:fs";
import {
  type Contract,
  contractText,
  parseContract,
  quoted,
  readContract,
} from "../../src/wings/audit/contract/contract.ts";
import { contractChanges } from "../../src/wings/audit/contract/diff.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { binFolderVariable } from "../support/database/postgres_binaries.ts";
import { withClient } from "../support/database/postgres_client.ts";
import { load } from "../support/database/schema_cache.ts";
import { type DiagnosedDatabase, diagnosedDatabase } from "../support/handler/diagnosis.ts";
import { records } from "../support/handler/records.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";
import { programFolder } from "../support/server/program.ts";
import { isChosen } from "../support/runner/row_filter.ts";

const setup = `
create table api.doc (id int primary key, team text, n int);
create table api.note (id int primary key, doc_id int references api.doc, source_id int);
insert into api.doc values (1, 'a', 1); insert into api.note values (1, 1, 1);
create function api.hello(n text) returns text stable language sql as 'select n';
create function api.nothing() returns void language sql as '';
grant select on api.doc, api.note to {anon}, {user};
grant delete on api.doc to {user};`;

/** SQL, the changes, in which `{user}` is a role, and SQL before: {@linkcode setup} and this. */
const rows = records`
  # E1: nothing
    sql: select
  # E1: comments and indexes
    sql: create index on api.note (doc_id)
  # E2: a second key between two tables
    sql: alter table api.note add foreign key (source_id) references api.doc
    change: breaking embed api.doc note: was note_doc_id_fkey, is ambiguous: note_doc_id_fkey,
      + note_source_id_fkey
    change: breaking embed api.note doc: was note_doc_id_fkey, is ambiguous: note_doc_id_fkey,
      + note_source_id_fkey
    change: safe embed api.doc note!note_source_id_fkey: new: one-to-many
    change: safe embed api.note doc!note_source_id_fkey: new: many-to-one
  # row-level security begins and hides all rows
    sql: alter table api.doc enable row level security
    change: maybe policy api.doc: new: enabled
  # row-level security ends and shows all rows
    before: alter table api.doc enable row level security, force row level security
    sql: alter table api.doc disable row level security
    change: breaking policy api.doc: lost: enabled, forced
  # a column of a result has another name
    before: create function api.pair() returns table (a int, b int) language sql as 'select 1, 2'
    sql: drop function api.pair(); create function api.pair() returns table (a int, c int) language
      + sql as 'select 1, 2'
    change: breaking function api.pair(): was setof record (a b), volatile, is setof record (a c),
      + volatile
  # E3: int becomes bigint
    sql: alter table api.doc alter n type bigint
    change: breaking column api.doc.n: was integer, nullable, is bigint, nullable
  # E4: a column becomes required
    sql: alter table api.doc alter team set not null
    change: breaking column api.doc.team: was text, nullable, is text, required
  # E5: a column is revoked
    sql: revoke select on api.doc from {user}; grant select (id, n) on api.doc to {user}
    change: breaking grant {user} api.doc select: lost team; grant select (team) on api.doc to
      + {user};
  # E5: an action is revoked
    sql: revoke delete on api.doc from {user}
    change: breaking grant {user} api.doc delete: lost all; grant delete on api.doc to {user};
  # E5: a column is dropped
    sql: alter table api.doc drop team
    change: breaking column api.doc.team: lost: text, nullable
  # E6: an overload with the same parameter names
    sql: create function api.hello(n int) returns text stable language sql as 'select 1::text'
    change: maybe function api.hello(n integer): new: text, stable
  # E7: a parameter with a default
    sql: drop function api.hello; create function api.hello(n text, m int default 1) returns text
      + stable language sql as 'select n'
    change: safe function api.hello(n text): is function api.hello(n text, m integer = default):
      + text, stable
    change: safe function api.hello(n text, m integer = default): new: text, stable
  # the anonymous role gains a column and an action
    sql: alter table api.doc add secret text; grant delete on api.note to {anon}
    change: breaking grant {anon} api.doc select: wider: secret
    change: breaking grant {anon} api.note delete: wider: all
    change: safe column api.doc.secret: new: text, nullable
    change: safe grant {user} api.doc select: gained: secret
  # a function in the place of a key of its name
    sql: create function api.note(api.doc) returns setof api.note stable language sql as 'select *
      + from api.note where doc_id = $1.id'
    change: breaking embed api.doc note: was note_doc_id_fkey, is function to many
    change: breaking embed api.doc note!note_doc_id_fkey: lost: one-to-many
  # a function in the place of two keys
    before: alter table api.note add foreign key (source_id) references api.doc
    sql: create function api.note(api.doc) returns setof api.note stable language sql as 'select *
      + from api.note where doc_id = $1.id'
    change: breaking embed api.doc note!note_doc_id_fkey: lost: one-to-many
    change: breaking embed api.doc note!note_source_id_fkey: lost: one-to-many
    change: safe embed api.doc note: was ambiguous: note_doc_id_fkey, note_source_id_fkey, is
      + function to many
  # a key in the place of a function of its name
    before: create function api.note(api.doc) returns setof api.note rows 1 stable language sql as
      + 'select * from api.note where doc_id = $1.id limit 1'
    sql: drop function api.note(api.doc)
    change: breaking embed api.doc note: was function to one, is note_doc_id_fkey
    change: safe embed api.doc note!note_doc_id_fkey: new: one-to-many
  # a function gives one row in place of many
    before: create function api.more(api.doc) returns setof api.note stable language sql as 'select
      + * from api.note where doc_id = $1.id'
    sql: alter function api.more(api.doc) rows 1
    change: breaking embed api.doc more: was function to many, is function to one
`;

Deno.test("contractChanges() says what a change of the database breaks", async (t) => {
  for (const { label, all, one } of rows.filter(({ label }) => isChosen(label))) {
    const fn = async () => {
      await using database = await diagnosedDatabase();
      await database.run(setup + (one("before") ?? ""));
      const old = await contractOf(database);
      await database.run(one("sql")!);
      deepStrictEqual(
        linesOf(changesOf(database, old, await contractOf(database))),
        all("change").map((line) => database.fill(line)),
      );
    };
    await t.step({ name: label, fn, sanitizeOps: false, sanitizeResources: false });
  }
});

/** A function is what requests get, with and without the key as a hint. */
Deno.test("readContract() gives the embed that requests get beside a function of its name", async () => {
  await using database = await diagnosedDatabase();
  await database.run(
    setup +
      "create function api.note(api.doc) returns setof api.note rows 1 stable language sql as " +
      "'select * from api.note where doc_id = $1.id limit 1'",
  );
  const { facts } = await contractOf(database);
  deepStrictEqual(
    ["embed api.doc note", "embed api.doc note!note_doc_id_fkey"].map((each) => facts.get(each)),
    ["function to one", undefined],
  );
  const handler = database.handler();
  try {
    for (const select of ["note(id)", "note!note_doc_id_fkey(id)"]) {
      const url = `http://localhost/doc?select=id,${select}`;
      const response = await handler(new Request(url));
      deepStrictEqual(await response.json(), [{ id: 1, note: { id: 1 } }]);
    }
  } finally {
    await handler.close();
  }
});

/** Names that are words of SQL, or that look like other parts of a line. */
const names = [
  ...["order", "user", "all", "select", "Team", "camelCase", "größe", "a b", "a, b", "a: b", "a.b"],
  ...[
    "a!b",
    'a"b',
    'a""b',
    '"',
    '""',
    "a\nb",
    "a\\nb",
    "a\\000ab",
    "a\tb",
    "\u001b[31m",
    "a(b",
    "a)",
  ],
  ...["--", "'", "'; drop schema api; --", ": select", "x, key y", "a = default", "ambiguous: a"],
  ...["x, required", "x, enum y", "\u2028", "<b>", "|"],
];

/** Tables, columns, functions, policies and labels with these names. */
function hostileSql(): string {
  const tables = names.map((name, index) => {
    const table = `api.${literalName(name)}`;
    const columns = names.map((each) => `${literalName(each)} text`).join(", ");
    return `create table ${table} (${columns}, primary key (${literalName(name)}));
      alter table ${table} enable row level security;
      create policy ${literalName(name)} on ${table} to {user} using (${literalName(name)} <> '');
      grant select, insert, delete on ${table} to {user};
      grant update (${literalName(names[index]!)}) on ${table} to {user};
      create type api.${literalName(`${name} type`)} as enum (${
      names.map((each) => `E'${each.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`).join(", ")
    });
      create function api.${literalName(`${name} call`)}(${literalName(name)} api.${
      literalName(`${name} type`)
    }) returns api.${literalName(`${name} type`)} stable language sql as 'select $1';
      revoke execute on function api.${literalName(`${name} call`)} from public;
      grant execute on function api.${literalName(`${name} call`)} to {user};`;
  });
  const [first, ...others] = names.map(literalName);
  const keys = others.map((name) =>
    `alter table api.${name} add constraint ${name} foreign key (${name}) references api.${first};`
  );
  return [...tables, ...keys, "create table api.qxq (id int); grant select on api.qxq to {user};"]
    .join("\n");
}

function literalName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

Deno.test("contracts keep names apart, and their SQL grants what was lost", async (t) => {
  await using database = await diagnosedDatabase();
  await database.run(hostileSql());
  const contract = await contractOf(database);
  const text = contractText(contract);
  await t.step("each object has a line, and each line its fact", () => {
    const parsed = parseContract(text, "api.contract");
    deepStrictEqual(parsed.facts, new Map([...contract.facts].sort(byKey)));
    strictEqual(/[\p{Cc}\u2028]/u.test(text.replaceAll("\n", "")), false);
    strictEqual(text.split("\n").length, contract.facts.size + 2);
    const counts = Map.groupBy(contract.facts.keys(), (subject) => subject.split(" ")[0]);
    const size = names.length;
    deepStrictEqual(
      ["relation", "column", "function", "policy", "grant", "embed"].map((kind) =>
        counts.get(kind)!.length
      ),
      [
        size + 2,
        size * size + 1 + 2,
        size,
        // Row-level security of each table has a line, too.
        size * 2 + 5,
        // Four actions and a function each; one table of the setup, for two roles.
        size * 5 + 1 + 5,
        // Each key in both directions, each by its name and by its constraint.
        (size - 1) * 4,
      ],
    );
  });
  await t.step("what is revoked is granted again", async () => {
    await database.run(
      "revoke all on all tables in schema api from {user}; " +
        "revoke all on all functions in schema api from {user}; " +
        "grant select, insert, update, delete on api.film to {user}",
    );
    const lost = changesOf(database, contract, await contractOf(database));
    strictEqual(lost.length, names.length * 5 + 1);
    for (const { level, sql } of lost) {
      strictEqual(level, "breaking");
      await database.run(sql!);
    }
    deepStrictEqual(changesOf(database, contract, await contractOf(database)), []);
  });
});

Deno.test("quoted() quotes each word that this version of PostgreSQL reserves", async () => {
  const words = await withClient(
    prepared(serverVariable),
    (client) => client.query("select word from pg_get_keywords() where catcode in ('R', 'T')"),
  );
  for (const { word } of words.rows) notStrictEqual(quoted(String(word)), word);
});

const programs = Deno.env.get(binFolderVariable) ?? "";
const hasPrograms = existsSync(`${programs}/pg_dump`);

Deno.test({
  name: "E1: contractText() has equal bytes after dump and restore",
  // The packages of PostgreSQL have no pg_dump.
  ignore: !hasPrograms,
  fn: async () => {
    await using source = await diagnosedDatabase();
    await source.run(setup + hostileSql());
    const before = await contractOf(source);
    await using folder = await programFolder();
    const file = `${folder.path}/dump.sql`;
    await run("pg_dump", "--schema-only", "--schema=api", `--file=${file}`, source.superuserUri);
    await using target = await diagnosedDatabase();
    await target.run("drop schema api cascade");
    await run("psql", "-qX", "--set=ON_ERROR_STOP=1", `--file=${file}`, target.superuserUri);
    // The roles are those of the server: the login role of the source reads both.
    const uri = new URL(source.config({}).dbUri);
    uri.pathname = new URL(target.superuserUri).pathname;
    const after = await contractOf(target, source.config({ "db-uri": uri.href }));
    strictEqual(contractText(after), contractText(before));
  },
});

async function run(program: string, ...args: readonly string[]): Promise<void> {
  const command = new Deno.Command(`${programs}/${program}`, { args: [...args] });
  const { success, stderr } = await command.output();
  strictEqual(success, true, new TextDecoder().decode(stderr));
}

Deno.test("E8: readContract() runs as many statements for 500 tables as for one", async () => {
  await using database = await diagnosedDatabase();
  const one = await statementsOf(database);
  await database.run(`do $$ begin for n in 1..500 loop
    execute format('create table api.t%s (id int primary key, a text, b int references api.film)', n);
    execute format('grant select, insert on api.t%s to {user}', n);
    end loop; end $$`);
  const many = await statementsOf(database);
  strictEqual(many.count, one.count);
  strictEqual(many.facts - one.facts, 500 * 10);
});

async function statementsOf(database: DiagnosedDatabase) {
  let count = 0;
  const { facts } = await contractOf(database, database.config({}), (transaction) => {
    count += transaction.statements.length;
  });
  return { count, facts: facts.size };
}

type Transaction = Parameters<Database["transaction"]>[0];

async function contractOf(
  database: DiagnosedDatabase,
  config = database.config({}),
  onTransaction: (transaction: Transaction) => void = () => {},
): Promise<Contract> {
  const opened = await openDatabase(config, { embeddedInit: null, applicationName: "test" });
  try {
    const cache = await withClient(database.superuserUri, (client) => load(client, {}));
    const counted = {
      version: () => opened.version(),
      transaction: (transaction: Transaction) => {
        onTransaction(transaction);
        return opened.transaction(transaction);
      },
    } as Database;
    return await readContract(counted, { config, cache });
  } finally {
    await opened.close();
  }
}

function changesOf(database: DiagnosedDatabase, old: Contract, now: Contract) {
  return contractChanges({ old, now, anonymous: database.fill("{anon}") });
}

/** Functions of relationships have facts of their own, which no row is about. */
const ownFact = /^function api\.(note|more)\(|^grant \S+ api\.(note|more) execute/;

function linesOf(changes: ReturnType<typeof contractChanges>): readonly string[] {
  return changes.filter(({ text }) => !ownFact.test(text)).map(({ level, text, sql }) =>
    `${level} ${text}${sql === null ? "" : `; ${sql}`}`
  );
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

/** `svc init`: writes a configuration file and SQL for roles and privileges. Applies the SQL if the
 * user confirms. @module */
import { env } from "node:process";
import { rejectFile } from "../../../state/config/handler_options.ts";
import { loadConfig } from "../../../state/config/load.ts";
import type { Config } from "../../../state/config/options.ts";
import type { OptionTable } from "../../../state/config/options/option.ts";
import { readJson } from "../../../database/read_rows.ts";
import { parseConnectionString } from "../../../database/connect/connection_string.ts";
import { isEmbedded } from "../../../database/open.ts";
import { diagnose } from "../diagnosis/diagnose.ts";
import { type Finding, findingsText } from "../diagnosis/finding.ts";
import {
  type Command,
  type CommandCall,
  type CommandContext,
  flagsOf,
  type RecordedTable,
} from "../../../api/command.ts";
import { fail, print } from "../../../base/observe/output.ts";
import { programCall } from "../../../base/lib/program_call.ts";
import { applyFile } from "./apply.ts";
import { type ReadChoices, readChoices } from "./ask_choices.ts";
import type { Choices } from "./choices.ts";
import { withServer } from "../../../database/with_server.ts";
import {
  configFileText,
  configOfFile,
  existingFiles,
  type InitFiles,
  replaceFile,
  type ServicePorts,
} from "./init_files.ts";
import { searchPathOf } from "../../../api/transaction/settings.ts";
import { initSql } from "./init_sql.ts";
import { loginOf, loginUri, planPassword, randomText, scramVerifier } from "./login.ts";
import { nextSteps } from "./next_steps.ts";
import { ask, isInteractive } from "./prompt.ts";
import type { ConfigArguments } from "../../../state/config/config_files.ts";
import { findNextPort, findPort, isFreePort, usualPort } from "../../../base/lib/free_ports.ts";

export const initCommand: Command = {
  name: "init",
  doc: "Write a configuration file and SQL for roles and grants; apply the SQL with --apply",
  example: "init --apply postgres://me@localhost:5432/shop",
  page: "docs/how-to/set-up-roles.md",
  readsUsualFile: false,
  flags: flagsOf({
    "--apply[=URI]": "Show the SQL, ask, and apply it; as the user of URI, such as a superuser",
    "--out=FILE": "Default: svc.conf",
    "--sql=FILE": "Default: svc-init.sql",
    "--login-role=ROLE": "Role that the service logs in as; default: authenticator",
    "--user-role=ROLE": "Role of requests with a token; default: none",
    "--grant=LIST":
      "Relations that all may read: none, all, all except, or names with * and commas",
    "--grant-user=LIST":
      "Relations that only the user role may read, in the same form; default: none",
    "--owner=LIST":
      "Columns with the claim sub of a row's owner, such as orders.owner: writes policies",
    "--grant-write=LIST": "Relations that the user role may write, in the same form; default: none",
    "--revoke-functions": "Take from PUBLIC the right to call the functions of the schemas",
    "--idempotency": "Make the table that keeps answers to writes with an Idempotency-Key",
    "--citus": "Let the roles of requests log in, as Citus needs it; without a password",
    "--live=LIST":
      "Only print the SQL that records changes of tables for live queries: TABLE[:COLUMN],…",
    "--yes": "Overwrite files, and apply without a question",
  }),
  run: runInit,
};

/** Exit code if a file exists that would be overwritten. */
const filesExist = 2;

/** Flags that do not change the content of the files. */
const otherFlags: ReadonlySet<string> = new Set(["--apply", "--out", "--sql", "--yes"]);

async function runInit(call: CommandCall, context: CommandContext): Promise<number> {
  const { flags } = call;
  if (flags.has("--live")) return await printLiveSql(call, context);
  const files = {
    conf: flags.get("--out") ?? "svc.conf",
    sql: flags.get("--sql") ?? "svc-init.sql",
    wingOptions: context.wingOptions,
  };
  const existing = existingFiles(files);
  const isConfirmed = flags.has("--yes");
  const isApplied = flags.has("--apply");
  if (isApplied && !isConfirmed && !isInteractive()) {
    return fail("--apply asks before it changes the database: without a terminal, add --yes");
  }
  if (existing.length === 2 && isApplied && !choosesAny(call)) {
    const uri = flags.get("--apply") || targetConnection(call.config, files);
    return await applyFile(files, { uri, isConfirmed });
  }
  if (existing.length > 0 && !isConfirmed) {
    fail(
      `${existing.join(" and ")} exist${existing.length === 1 ? "s" : ""}: overwrite with --yes, ` +
        "or name other files with --out and --sql",
    );
    return filesExist;
  }
  const uri = targetConnection(call.config, files);
  if (isEmbedded(uri)) return fail("init makes roles on a server, not in an embedded database");
  const { choices, facts, server, ports } = await writeFiles(call, files, uri);
  if (isApplied) {
    const code = await applyFile(files, { uri: flags.get("--apply") || uri, isConfirmed });
    if (code !== 0) return code;
  } else print(`The database is unchanged. Read ${files.sql}, then apply it.\n`);
  const mayApply = server.createsRoles && facts.owners.every(({ isOurs }) => isOurs);
  print(nextSteps({ choices, files, isApplied, mayApply, uri, port: ports.api }));
  return 0;
}

/** Returns whether flags choose content for the files. If none does, `--apply` applies the existing files. */
function choosesAny({ flags, config }: CommandCall): boolean {
  return Array.from(flags.keys()).some((flag) => !otherFlags.has(flag)) ||
    Array.from(config.flags.keys()).some((key) => key !== "db-uri");
}

/** Returns the connection string of the arguments, of the configuration file that they name, or of
 * the environment; otherwise asks for it. Throws an `Error` if there is no terminal. */
function targetConnection(
  { file, flags }: ConfigArguments,
  { wingOptions }: InitFiles,
): string {
  const named = flags.get("db-uri")?.value ??
    (file === null ? null : fileConnection(file, wingOptions)) ??
    env["SVC_DB_URI"] ?? env["DATABASE_URL"];
  if (named) return checked(named);
  if (!isInteractive()) {
    throw new Error(`expected a connection string: ${programCall()} init postgres://…`);
  }
  return ask(
    "Connection string of the database, as its owner or a superuser,\n" +
      "such as postgres://me@localhost:5432/shop",
    null,
    checked,
  );
}

function fileConnection(file: string, wingOptions: OptionTable): string {
  const config = configOfFile({ conf: file, wingOptions });
  if (config === null) throw new Error(`${file}: cannot read db-uri`);
  return config.dbUri;
}

/** Throws an `Error` for a connection string that cannot be parsed. */
function checked(text: string): string {
  if (text === "") throw new Error("a connection string is needed");
  if (!isEmbedded(text)) parseConnectionString(text);
  return text;
}

/** Makes the choices and writes both files. */
async function writeFiles(
  call: CommandCall,
  files: InitFiles,
  uri: string,
): Promise<ReadChoices & { readonly ports: ServicePorts }> {
  const previous = configOfFile(files);
  const uris = [previous?.dbUri ?? "", uri].filter((each) => each !== "" && !isEmbedded(each));
  const logins = uris.map(loginOf).filter(({ password }) => password !== null);
  const read = await readChoices(uri, call, logins.map(({ user }) => user));
  const { choices, facts, server: { database } } = read;
  const { loginRole: user } = choices;
  await refuseAnonymous(uri, read, files);
  const exists = facts.roles.some(({ name }) => name === user);
  const password = planPassword(user, { exists, uris });
  const verifier = password === null ? null : scramVerifier(password);
  const dbUri = loginUri(uri, { user, password, database });
  const ports = await choosePorts(call, previous);
  replaceFile(files.conf, configText(call, { choices, dbUri, previous, ports }), "private");
  replaceFile(files.sql, initSql(choices, facts, verifier), "public");
  print(`\nWrote ${files.conf}, which only you can read, and ${files.sql}.\n`);
  printNotes(call, files, read);
  if (password === null) {
    print(`The role ${user} exists: write its password into db-uri of ${files.conf}.\n`);
  }
  return { ...read, ports };
}

/** Returns the ports of flags, otherwise the ports in the existing file, otherwise free ports. */
async function choosePorts(
  { config: { flags } }: CommandCall,
  previous: Config | null,
): Promise<ServicePorts> {
  const numberOf = (key: string) => {
    const flag = flags.get(key);
    return flag === undefined ? null : Number(flag.value);
  };
  const api = numberOf("server-port") ?? previous?.serverPort ??
    await findPort(isFreePort).catch(() => usualPort);
  const admin = numberOf("admin-server-port") ?? previous?.adminServerPort ??
    await findNextPort(api, isFreePort);
  return { api, admin };
}

function configText(
  { config }: CommandCall,
  { choices, dbUri, previous, ports }: {
    readonly choices: Choices;
    readonly ports: ServicePorts;
    readonly dbUri: string;
    readonly previous: Config | null;
  },
): string {
  const secret = previous?.jwtSecret ?? null;
  // Leaves out options whose values `choices` and `dbUri` already have.
  const chosen: ReadonlySet<string> = new Set(["db-uri", "db-schemas", "db-anon-role"]);
  const overrides = Array.from(config.flags, ([key, { value }]) => [key, value] as const)
    .filter(([key]) => !chosen.has(key));
  return configFileText({
    ...choices,
    dbUri,
    jwtSecret: secret === null ? randomText(32) : new TextDecoder().decode(secret),
    ports,
    lacksPassword: loginOf(dbUri).password === null,
    overrides: new Map(overrides),
  });
}

/** Prints what the files do not contain, and which roles they do not create. */
function printNotes(call: CommandCall, files: InitFiles, { choices, facts }: ReadChoices): void {
  const isUnasked = !isInteractive() || call.flags.has("--yes");
  if (isUnasked && !call.flags.has("--grant") && facts.relations.length > 0) {
    print(
      `The SQL lets ${choices.anonRole} read no relation yet. To grant some, call init again with ` +
        `--grant=all or --grant=NAMES, and --yes; or uncomment grants in ${files.sql}.\n`,
    );
  }
  for (const { name } of facts.roles) print(`The role ${name} exists: it is used as it is.\n`);
}

/** Names of findings that rule out a role as anonymous role. The SQL of `svc init` corrects other findings. */
const refused: ReadonlySet<string> = new Set([
  "role-superuser",
  "role-bypassrls",
  "role-owns",
  "write-without-rls",
  "create-in-schema",
]);

/** Returns whether a finding is about a privilege of PUBLIC, such as CREATE on `public` in PostgreSQL 14. */
function isOfPublic({ sql }: Finding): boolean {
  return sql !== null && sql.split("\n").every((line) => line.endsWith(" from public;"));
}

/** Rejects if the anonymous role exists and is not safe. */
async function refuseAnonymous(
  uri: string,
  { choices, facts }: ReadChoices,
  { wingOptions }: InitFiles,
): Promise<void> {
  const { schemas, anonRole } = choices;
  const existing = schemas.filter((name) => !facts.missingSchemas.includes(name));
  if (existing.length === 0 || !facts.roles.some(({ name }) => name === anonRole)) return;
  const environment = {
    SVC_DB_URI: uri,
    SVC_DB_SCHEMAS: existing.join(","),
    SVC_DB_ANON_ROLE: anonRole,
  };
  const config = loadConfig({ file: null, environment, readFile: rejectFile, wingOptions });
  const program = programCall();
  const findings = await withServer(uri, (database) => diagnose(database, { config, program }));
  const errors = findings.filter((finding) =>
    finding.level === "error" && refused.has(finding.name) && !isOfPublic(finding)
  );
  if (errors.length === 0) return;
  throw new Error(
    `the role ${anonRole} must not be used for requests without a token:\n` +
      findingsText(errors, { program, source: "" }).trimEnd(),
  );
}

/** Prints the SQL for the tables of `--live`. Resolves with the exit code. Rejects for an unsuitable table. */
async function printLiveSql(
  { config, flags }: CommandCall,
  { recordSql, withDatabase }: CommandContext,
): Promise<number> {
  return await withDatabase(config, async (appState) => {
    const { dbSchemas } = await appState.readConfig();
    const [schema = "", ...others] = dbSchemas;
    const items = Array.from(
      flags.get("--live")!.matchAll(listItem),
      ([, table, column]) => [table!.trim(), column],
    );
    const tables = await readJson<readonly ListedTable[]>(appState.database, {
      text: "select pg_catalog.set_config('search_path', $1, true)",
      params: [searchPathOf(schema, others)],
      use: "none",
    }, {
      text: tablesQuery,
      params: [JSON.stringify(items), JSON.stringify(dbSchemas)],
      use: "rows",
    });
    for (const { item, problem } of tables) {
      if (problem !== null) throw new Error(`--live: ${item} ${problem}`);
    }
    print(recordSql(flags.get("--login-role") ?? tables[0]!.login, tables));
    return 0;
  });
}

/** Matches a table and possibly a column. Names contain commas and colons only in quotes. */
const listItem = /((?:"(?:[^"]|"")*"|[^,":])+)(?::((?:"(?:[^"]|"")*"|[^,"])+))?/g;

interface ListedTable extends RecordedTable {
  readonly login: string;
  readonly item: string;
  /** Reason why the SQL or its triggers would fail; otherwise null. */
  readonly problem: string | null;
}

/** Parameters: JSON arrays of tables with their columns, as written in SQL, and of schemas for
 * unqualified names. Includes partitions of the tables. Needs no privileges on the schemas. */
const tablesQuery = `with recursive items (place, item, name, oid) as (
  select place, item->>0, (pg_catalog.parse_ident(item->>1))[1], (
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.json_array_elements_text(case when p[2] is null then $2 else pg_catalog.json_build_array(p[1]) end)
        with ordinality s (name, place) on s.name = n.nspname
    where c.relname = coalesce(p[2], p[1]) order by s.place limit 1)
  from pg_catalog.json_array_elements($1) with ordinality i (item, place) cross join pg_catalog.parse_ident(item->>0) p
  union select t.place, t.item, t.name, h.inhrelid from items t join pg_inherits h on h.inhparent = t.oid
)
select pg_catalog.json_agg(pg_catalog.json_build_object('login', session_user, 'item', i.item, 'schema', n.nspname, 'name', c.relname,
  'scope', i.name, 'problem', case when c.oid is null then 'does not exist'
    when not pg_catalog.has_schema_privilege(n.oid, 'usage') then pg_catalog.format('is in a schema that %I may not use: ' ||
      'grant usage on schema %I to %I;', session_user, n.nspname, session_user)
    when c.relkind not in ('r', 'p') then 'is not a table: name the tables below it'
    when i.name is not null and a.attname is null then 'has no column ' || i.name
    when pg_catalog.octet_length(i.name) > 57 or i.name ~ '[$]' then i.name || ': too long, or with a dollar sign'
  end) order by i.place, c.oid)::text
from items i left join pg_class c on c.oid = i.oid left join pg_namespace n on n.oid = c.relnamespace
  left join pg_attribute a on a.attrelid = c.oid and a.attname = i.name and a.attnum > 0 and not a.attisdropped`;

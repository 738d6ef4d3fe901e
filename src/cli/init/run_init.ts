/** The steps of `svc init`. @module */
import { env } from "node:process";
import { rejectFile } from "../../config/handler_options.ts";
import { loadConfig } from "../../config/load.ts";
import type { Config, OptionKey } from "../../config/options.ts";
import { parseConnectionString } from "../../database/connect/connection_string.ts";
import { isEmbedded } from "../../database/open.ts";
import { diagnose } from "../../diagnosis/diagnose.ts";
import { type Finding, findingsText } from "../../diagnosis/finding.ts";
import type { CommandCall, ConfigArguments } from "../command.ts";
import { fail, print } from "../output.ts";
import { programCall } from "../program_call.ts";
import { withServer } from "../with_server.ts";
import { applyFile } from "./apply.ts";
import { type ReadChoices, readChoices } from "./ask_choices.ts";
import type { Choices } from "./choices.ts";
import {
  configFileText,
  configOfFile,
  existingFiles,
  type InitFiles,
  writePrivateFile,
  writePublicFile,
} from "./init_files.ts";
import { initSql } from "./init_sql.ts";
import { printLiveSql } from "./live_init.ts";
import { loginOf, loginUri, planPassword, randomText, scramVerifier } from "./login.ts";
import { nextSteps } from "./next_steps.ts";
import { ask, isInteractive } from "./prompt.ts";

/** Exit code if a file exists. */
const filesExist = 2;

/** Flags that do not decide the content of the files. */
const otherFlags: ReadonlySet<string> = new Set(["--apply", "--out", "--sql", "--yes"]);

/** Runs the command. Resolves with the exit code. */
export async function runInit(call: CommandCall): Promise<number> {
  const { flags } = call;
  if (flags.has("--live")) return await printLiveSql(call);
  const files = {
    conf: flags.get("--out") ?? "svc.conf",
    sql: flags.get("--sql") ?? "svc-init.sql",
  };
  const existing = existingFiles(files);
  const isConfirmed = flags.has("--yes");
  const isApplied = flags.has("--apply");
  if (isApplied && !isConfirmed && !isInteractive()) {
    return fail("--apply asks before it changes the database: without a terminal, add --yes");
  }
  if (existing.length === 2 && isApplied && !choosesAny(call)) {
    const uri = flags.get("--apply") || targetConnection(call.config);
    return await applyFile(files, { uri, isConfirmed });
  }
  if (existing.length > 0 && !isConfirmed) {
    fail(
      `${existing.join(" and ")} exist${existing.length === 1 ? "s" : ""}: overwrite with --yes, ` +
        "or name other files with --out and --sql",
    );
    return filesExist;
  }
  const uri = targetConnection(call.config);
  if (isEmbedded(uri)) return fail("init makes roles on a server, not in an embedded database");
  const { choices, facts, server } = await writeFiles(call, files, uri);
  if (isApplied) {
    const code = await applyFile(files, { uri: flags.get("--apply") || uri, isConfirmed });
    if (code !== 0) return code;
  } else print(`The database is unchanged. Read ${files.sql}, then apply it.\n`);
  const mayApply = server.createsRoles && facts.owners.every(({ isOurs }) => isOurs);
  const port = call.config.flags.get("server-port")?.value ?? "3000";
  print(nextSteps({ choices, files, isApplied, mayApply, uri, port }));
  return 0;
}

/** Whether the call makes a choice, in place of applying the files of an earlier call. */
function choosesAny({ flags, config }: CommandCall): boolean {
  return Array.from(flags.keys()).some((flag) => !otherFlags.has(flag)) ||
    Array.from(config.flags.keys()).some((key) => key !== "db-uri");
}

/**
 * Returns the connection string of the arguments, of the configuration file that they name, or of the
 * environment; else asks for it. Throws an `Error` without a terminal.
 */
function targetConnection({ file, flags }: ConfigArguments): string {
  const named = flags.get("db-uri")?.value ?? (file === null ? null : fileConnection(file)) ??
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

function fileConnection(file: string): string {
  const config = configOfFile(file);
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
async function writeFiles(call: CommandCall, files: InitFiles, uri: string): Promise<ReadChoices> {
  const previous = configOfFile(files.conf);
  const uris = [previous?.dbUri ?? "", uri].filter((each) => each !== "" && !isEmbedded(each));
  const known = uris.map(loginOf).filter(({ password }) => password !== null);
  const read = await readChoices(uri, call, known.map(({ user }) => user));
  const { choices, facts, server: { database } } = read;
  const { loginRole: user } = choices;
  await refuseAnonymous(uri, read);
  const exists = facts.roles.some(({ name }) => name === user);
  const password = planPassword(user, { exists, uris });
  const verifier = password === null ? null : await scramVerifier(password);
  const dbUri = loginUri(uri, { user, password, database });
  writePrivateFile(files.conf, configText(call, { choices, dbUri, previous }));
  writePublicFile(files.sql, initSql(choices, facts, verifier));
  print(`\nWrote ${files.conf}, which only you can read, and ${files.sql}.\n`);
  printNotes(call, files, read);
  if (password === null) {
    print(`The role ${user} exists: write its password into db-uri of ${files.conf}.\n`);
  }
  return read;
}

function configText(
  { config }: CommandCall,
  { choices, dbUri, previous }: {
    readonly choices: Choices;
    readonly dbUri: string;
    readonly previous: Config | null;
  },
): string {
  const secret = previous?.jwtSecret ?? null;
  // Names of schema and role are choices.
  const chosen: ReadonlySet<OptionKey> = new Set(["db-uri", "db-schemas", "db-anon-role"]);
  const overrides = Array.from(config.flags, ([key, { value }]) => [key, value] as const)
    .filter(([key]) => !chosen.has(key));
  return configFileText({
    ...choices,
    dbUri,
    jwtSecret: secret === null ? randomText(32) : new TextDecoder().decode(secret),
    lacksPassword: loginOf(dbUri).password === null,
    overrides: new Map(overrides),
  });
}

/** Prints what the files lack, and which roles they do not make. */
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

/** Errors that mean too many rights. The SQL of `svc init` mends the others. */
const refused: ReadonlySet<string> = new Set([
  "role-superuser",
  "role-bypassrls",
  "role-owns",
  "write-without-rls",
  "create-in-schema",
]);

/** Whether every role has the right: up to PostgreSQL 14, PUBLIC may create in the schema `public`. */
function isOfPublic({ sql }: Finding): boolean {
  return sql !== null && sql.split("\n").every((line) => line.endsWith(" from public;"));
}

/** Rejects if the anonymous role exists and must not be used. */
async function refuseAnonymous(uri: string, { choices, facts }: ReadChoices): Promise<void> {
  const { schema, anonRole } = choices;
  if (!facts.hasSchema || !facts.roles.some(({ name }) => name === anonRole)) return;
  const environment = { SVC_DB_URI: uri, SVC_DB_SCHEMAS: schema, SVC_DB_ANON_ROLE: anonRole };
  const config = loadConfig({ file: null, environment, readFile: rejectFile });
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

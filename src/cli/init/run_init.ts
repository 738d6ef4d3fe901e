/** The steps of `svc init`. @module */
import type { OptionKey } from "../../config/options.ts";
import { withScriptConnection } from "../../database/adapters/script.ts";
import { isEmbedded } from "../../database/open.ts";
import { svcDialect } from "../../dialect.ts";
import type { CommandCall } from "../command.ts";
import { CannotConnectError } from "../connect_error.ts";
import { fail, print, printError } from "../output.ts";
import { programCall } from "../program_call.ts";
import { applySql } from "./apply.ts";
import { readChoices } from "./ask_choices.ts";
import type { Choices } from "./choices.ts";
import { namedConnection, targetConnection } from "./connection.ts";
import { anonymousErrors } from "./existing_roles.ts";
import { configFileText } from "./init_conf.ts";
import {
  configOfFile,
  existingFiles,
  type InitFiles,
  readText,
  writePrivateFile,
  writePublicFile,
} from "./init_files.ts";
import { initSql, summaryOf } from "./init_sql.ts";
import { loginOf } from "./login_uri.ts";
import { planLogin } from "./login_password.ts";
import { printLiveSql } from "./live_init.ts";
import { printNextSteps, superuserCall, whoApplies } from "./next_steps.ts";
import { confirm, isInteractive } from "./prompt.ts";
import { readServer } from "./facts.ts";
import { withServer } from "./server.ts";
import { randomText, scramVerifier } from "./scram.ts";

/** Exit codes besides 0. */
const failed = 1;
const filesExist = 2;

/** Flags that decide the content of the files. */
const choiceFlags = [
  "--login-role",
  "--user-role",
  "--grant",
  "--grant-user",
  "--grant-write",
  "--owner",
  "--revoke-functions",
  "--idempotency",
  "--citus",
];

/** Runs the command. Resolves with the exit code. */
export async function runInit(call: CommandCall): Promise<number> {
  const { flags } = call;
  if (flags.has("--live")) return await printLiveSql(call);
  const files = {
    conf: flags.get("--out") ?? "svc.conf",
    sql: flags.get("--sql") ?? "svc-init.sql",
  };
  const existing = existingFiles(files);
  if (flags.has("--apply") && !flags.has("--yes") && !isInteractive()) {
    fail("--apply asks before it changes the database: without a terminal, add --yes");
    await reportConnection(call);
    return failed;
  }
  if (existing.length > 0 && isReviewed(call, files)) {
    const uri = flags.get("--apply") || targetConnection(call.config);
    return await applyFile(files, { uri, isConfirmed: flags.has("--yes") });
  }
  if (existing.length > 0 && !flags.has("--yes")) {
    fail(
      `${existing.join(" and ")} exist${existing.length === 1 ? "s" : ""}: overwrite with --yes, ` +
        "or name other files with --out and --sql",
    );
    await reportConnection(call);
    return filesExist;
  }
  const uri = targetConnection(call.config);
  if (isEmbedded(uri)) return fail("init makes roles on a server, not in an embedded database");
  const written = await writeFiles(call, files, uri);
  if (written === null) return failed;
  const isApplied = flags.has("--apply");
  const applyUri = flags.get("--apply") || uri;
  const code = isApplied
    ? await applyFile(files, { uri: applyUri, isConfirmed: flags.has("--yes") })
    : 0;
  if (code === 0) printNextSteps({ ...written, files, isApplied, uri, port: portOf(call) });
  return code;
}

/** Reports why the named database cannot be reached, so that a call shows all its problems at once. */
async function reportConnection({ config }: CommandCall): Promise<void> {
  const uri = namedConnection(config);
  if (uri === null || isEmbedded(uri)) return;
  await withServer(uri, readServer).catch((thrown) => fail(new CannotConnectError(thrown).message));
}

/** Whether the call applies files that an earlier call wrote: it chooses nothing itself. */
function isReviewed({ flags, config }: CommandCall, { conf, sql }: InitFiles): boolean {
  const chooses = choiceFlags.some((flag) => flags.has(flag)) ||
    Array.from(config.flags.keys()).some((key) => key !== "db-uri");
  return flags.has("--apply") && !chooses && existingFiles({ conf, sql }).length === 2;
}

/** The choices of new files. */
interface Written {
  readonly choices: Choices;
  /** Whether the user of the connection string may apply the SQL. */
  readonly mayApply: boolean;
}

/** Writes both files. Resolves with null after a failure, which it reports. */
async function writeFiles(
  call: CommandCall,
  files: InitFiles,
  uri: string,
): Promise<Written | null> {
  const previous = configOfFile(files.conf);
  const knownLogins = [previous?.dbUri, uri]
    .filter((each) => each !== undefined && !isEmbedded(each))
    .map((each) => loginOf(each!))
    .flatMap(({ user, password }) => password === null ? [] : [user]);
  const read = await readChoices(uri, call, knownLogins);
  const { choices, facts, server } = read;
  if (server !== null) {
    const problem = await anonymousErrors(uri, choices, facts);
    if (problem !== null) {
      fail(problem);
      return null;
    }
  }
  const login = planLogin(uri, choices, {
    previousUri: previous?.dbUri ?? null,
    database: server?.database ?? null,
    exists: facts.roles.some(({ name }) => name === choices.loginRole),
  });
  const verifier = login.password === null ? null : await scramVerifier(login.password);
  writePrivateFile(files.conf, configText(call, { choices, login, previous }));
  writePublicFile(files.sql, initSql(choices, facts, verifier));
  print(`\nWrote ${files.conf}, which only you can read, and ${files.sql}.\n`);
  print(read.note);
  printNotes(call, files, { choices, facts, login });
  if (server === null) {
    fail(read.problem);
    return null;
  }
  if (!call.flags.has("--apply")) {
    print(`The database is unchanged. Read ${files.sql}, then apply it.\n`);
  }
  const mayApply = server.createsRoles && facts.owners.every(({ isOurs }) => isOurs);
  return { choices, mayApply };
}

function configText(
  call: CommandCall,
  { choices, login, previous }: {
    readonly choices: Choices;
    readonly login: ReturnType<typeof planLogin>;
    readonly previous: ReturnType<typeof configOfFile>;
  },
): string {
  const secret = previous?.jwtSecret ?? null;
  return configFileText({
    dbUri: login.uri,
    schema: choices.schema,
    anonRole: choices.anonRole,
    jwtSecret: secret === null ? randomText(32) : new TextDecoder().decode(secret),
    lacksPassword: login.password === null,
    keepsAnswers: choices.keepsAnswers,
    overrides: overridesOf(call),
  });
}

/** Prints what is left to do in the files. */
function printNotes(
  call: CommandCall,
  files: InitFiles,
  { choices, facts, login }: Pick<Awaited<ReturnType<typeof readChoices>>, "choices" | "facts"> & {
    readonly login: ReturnType<typeof planLogin>;
  },
): void {
  const isUnasked = !isInteractive() || call.flags.has("--yes");
  if (isUnasked && !call.flags.has("--grant") && facts.relations.length > 0) {
    print(
      `The SQL lets ${choices.anonRole} read no relation yet. To grant some, call init again with ` +
        `--grant=all or --grant=NAMES, and --yes; or uncomment grants in ${files.sql}.\n`,
    );
  }
  printExistingRoles(facts.roles.map(({ name }) => name));
  if (login.password === null) {
    print(
      `The role ${choices.loginRole} exists: write its password into db-uri of ${files.conf}.\n`,
    );
  }
}

function portOf({ config }: CommandCall): string {
  return config.flags.get("server-port")?.value ?? "3000";
}

function printExistingRoles(names: readonly string[]): void {
  for (const name of names) print(`The role ${name} exists: it is used as it is.\n`);
}

/** Options of the command line that go into the file. Names of schema and role are choices. */
function overridesOf({ config }: CommandCall): ReadonlyMap<OptionKey, string> {
  const chosen: ReadonlySet<OptionKey> = new Set(["db-uri", "db-schemas", "db-anon-role"]);
  return new Map(
    Array.from(config.flags).filter(([key]) => !chosen.has(key)).map(([key, { value }]) => [
      key,
      value,
    ]),
  );
}

/** Shows the SQL file, asks, and applies it. */
async function applyFile(
  files: InitFiles,
  { uri, isConfirmed }: { readonly uri: string; readonly isConfirmed: boolean },
): Promise<number> {
  const text = readText(files.sql);
  const { displayName } = svcDialect;
  return await withScriptConnection(uri, displayName, async (connection) => {
    const { database, user } = connection;
    print(`\n${isConfirmed ? text : summaryOf(text)}\n`);
    const question = `Apply to database ${database} at ${connection.place} as ${user}?`;
    if (!isConfirmed && !confirm(question, text)) {
      print(
        `Nothing was applied. To apply ${files.sql} later, call ${programCall()} init --apply again.\n`,
      );
      return failed;
    }
    const result = await applySql(connection.session, { name: files.sql, text });
    if (result.kind === "failed") {
      printError(`${result.message}\nNothing was applied.`);
      if (isRefused(result.message)) {
        printError(`Apply the SQL as ${whoApplies}:\n  ${superuserCall(uri, files)}`);
      }
      return failed;
    }
    print(`Applied to database ${database} at ${connection.place} as ${user}.\n`);
    if (result.kind === "without trigger") {
      print(
        `The event triggers were refused: ${result.reason}. db-schema-watch = "auto" polls instead.\n`,
      );
    }
    return await checkLogin(files);
  });
}

/** Whether PostgreSQL refused a statement because of the user. */
function isRefused(message: string): boolean {
  return /: (?:permission denied|must be owner|must have admin option)/.test(message);
}

/** Connects as the service will, so that a refusal is seen now. */
async function checkLogin({ conf }: InitFiles): Promise<number> {
  const config = configOfFile(conf);
  if (config === null) return 0;
  try {
    await withScriptConnection(config.dbUri, svcDialect.displayName, () => Promise.resolve());
    return 0;
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    return fail(`the service cannot log in by ${conf}: ${reason}`);
  }
}

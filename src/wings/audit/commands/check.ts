/** `svc check`: diagnoses the database and the configuration. Writes of `--measure` are rolled back. @module */
import { findingsOf, readCatalogue } from "../diagnosis/diagnose.ts";
import { countText, type Finding, findingsSql, findingsText } from "../diagnosis/finding.ts";
import { measureFindings } from "../diagnosis/measure.ts";
import { notificationFindings } from "../diagnosis/notifications.ts";
import { svcDialect } from "../../../base/dialect.ts";
import { operationFindings } from "../operations/operation_findings.ts";
import type { Config } from "../../../state/config/options.ts";
import { indexSchemaCache } from "../../../state/schema_cache/lookups.ts";
import type { CallWords } from "../../../base/observe/call_words.ts";
import type { AppState } from "../../../state/app_state/app_state.ts";
import {
  type Command,
  type CommandCall,
  type CommandContext,
  flagsOf,
  type QuickSettings,
} from "../../../api/command.ts";
import { printableJson } from "../../../base/lib/printable.ts";
import { print, printError } from "../../../base/observe/output.ts";
import { callWords } from "../../../state/config/call_words.ts";

/** Exit codes besides 0. */
const foundErrors = 1;
const cannotCheck = 2;

export const checkCommand: Command = {
  name: "check",
  doc: "List problems of the database and the configuration, with SQL that mends them",
  example: "check svc.conf",
  page: "docs/how-to/check-a-database.md",
  flags: flagsOf({
    "--json": "Print the list as JSON",
    "--measure": "Measure on the rows what SQL of findings gains",
    "--fix-sql": "Print only the SQL, for psql",
  }),
  failureCode: cannotCheck,
  run: check,
};

async function check(
  { config, flags }: CommandCall,
  { withDatabase, openGuard }: CommandContext,
): Promise<number> {
  if (flags.has("--json") && flags.has("--fix-sql")) {
    throw new Error("--json and --fix-sql exclude each other");
  }
  return await withDatabase(config, (appState, quick) => {
    if (quick !== null) printQuick(quick);
    return printFindings(appState, { flags, call: callWords(config), openGuard });
  });
}

/** Prints the schema and role that quick mode has chosen, because the findings depend on them. */
function printQuick({ schemas, anonRole, isLoginRole }: QuickSettings): void {
  const reach = isLoginRole ? ", read only" : "";
  const noun = schemas.length === 1 ? "schema" : "schemas";
  printError(
    `${svcDialect.productToken} check: quick mode: ${noun} ${
      schemas.join(", ")
    }, requests without ` +
      `a token run as ${JSON.stringify(anonRole)}${reach}`,
  );
}

async function printFindings(
  appState: AppState,
  { flags, call, openGuard }: Pick<CommandContext, "openGuard"> & {
    readonly flags: CommandCall["flags"];
    readonly call: CallWords;
  },
): Promise<number> {
  const isMeasured = flags.has("--measure");
  const findings = await readFindings(appState, { program: call.program, isMeasured, openGuard });
  if (flags.has("--json")) print(printableJson(findings));
  else if (flags.has("--fix-sql")) print(findingsSql(findings));
  else {
    print(findingsText(findings, call));
    printError(`${svcDialect.productToken} check: ${countText(findings)}`);
  }
  return findings.some(({ level }) => level === "error") ? foundErrors : 0;
}

async function readFindings(
  appState: AppState,
  { program, isMeasured, openGuard }: Pick<CommandContext, "openGuard"> & {
    readonly program: string;
    readonly isMeasured: boolean;
  },
): Promise<readonly Finding[]> {
  const { database } = appState;
  const config = await appState.readConfig();
  const [catalogue, lost] = await Promise.all([
    readCatalogue(database, config),
    notificationFindings(database, config),
  ]);
  const findings = [
    ...findingsOf(catalogue, { config, program }),
    ...await operationsIn(appState, config, openGuard),
  ];
  return [
    ...lost,
    ...isMeasured ? await measureFindings(database, findings, catalogue) : findings,
  ];
}

/** Returns the findings about operations; empty if `operations` is not set. */
async function operationsIn(
  appState: AppState,
  config: Config,
  openGuard: CommandContext["openGuard"],
): Promise<readonly Finding[]> {
  if (openGuard({ ...appState.snapshot, config }) === null) return [];
  const cache = indexSchemaCache(await appState.readSchema());
  const operations = openGuard({ ...appState.snapshot, config, cache })?.operations?.() ?? [];
  return await operationFindings(operations, appState.database, config);
}

/** Diagnoses a database and its configuration. Reads the catalogue once as the login role, and
 * lists what makes requests fail or grants too much. Changes nothing. @module */
import type { Config } from "../../../state/config/options.ts";
import { lockTimeout, metadataTransaction, type Statement } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { isEmbedded, openDatabase } from "../../../database/open.ts";
import { catalogueFindings } from "./catalogue_findings.ts";
import { policyFindings } from "./policy_findings.ts";
import { agentFindings, settingFindings } from "./setting_findings.ts";
import { type Finding, findingLevels } from "./finding.ts";
import { type Catalogue, diagnosisStatements, distributedStatement } from "./query.ts";

/** Reads the catalogue. Rejects if the database cannot be reached. */
export async function readCatalogue(database: Database, config: Config): Promise<Catalogue> {
  const isDistributed = (await valuesOf(database, [distributedStatement]))[0] === "t";
  const values = await valuesOf(database, diagnosisStatements(config, { isDistributed }));
  const [catalogue, others = []] = values.map((text) => JSON.parse(text));
  return { ...catalogue, rows: [...catalogue.rows, ...others] };
}

/** Returns the value of each statement. A statement returns a single value. */
async function valuesOf(
  database: Database,
  statements: readonly Statement[],
): Promise<readonly string[]> {
  const { rows } = await database.transaction(
    metadataTransaction([lockTimeout, ...statements], "rollback"),
  );
  return rows.flatMap(([row]) => row?.[0] ?? []);
}

/** Findings about writes, which do not concern a service with `db-read-only`. */
const writeFindings: ReadonlySet<string> = new Set([
  "write-without-rls",
  "create-in-schema",
  "sequence-usage",
  "truncate",
  "select-policy-missing",
  "write-policy-true",
]);

/** The configuration to diagnose, and the words that start the program, for advice. */
export interface DiagnosisInput {
  readonly config: Config;
  readonly program: string;
}

/** Lists the findings, errors first. */
export function findingsOf(
  catalogue: Catalogue,
  { config, program }: DiagnosisInput,
): readonly Finding[] {
  const indexes = new Set<string | null>();
  const all = [
    ...policyFindings(catalogue).map(([finding]) => finding),
    ...catalogueFindings(catalogue, program),
    ...settingFindings(catalogue, config),
    ...agentFindings(catalogue, config),
  ]
    .filter(({ name }) => !(config.dbReadOnly && writeFindings.has(name)))
    // Lists an index only once, although several findings may need it.
    .filter(({ name, sql }) => !name.endsWith("-index") || indexes.size < indexes.add(sql).size)
    // Leaves out a finding that is always true for an embedded database: its only user is a superuser.
    .filter(({ name }) => name !== "login-superuser" || !isEmbedded(config.dbUri));
  return findingLevels.flatMap((level) => all.filter((finding) => finding.level === level));
}

/** Diagnoses the database of a running service. Uses a separate connection, so that no request waits,
 * unless the database is embedded and has only one connection. */
export async function diagnoseRunning(
  shared: Database,
  input: DiagnosisInput,
): Promise<readonly Finding[]> {
  const { config } = input;
  if (isEmbedded(config.dbUri)) return await diagnose(shared, input);
  const database = await openDatabase(config, {
    embeddedInit: null,
    applicationName: config.dialect.displayName,
    connections: "per-request",
  });
  try {
    return await diagnose(database, input);
  } finally {
    await database.close();
  }
}

export async function diagnose(
  database: Database,
  input: DiagnosisInput,
): Promise<readonly Finding[]> {
  return findingsOf(await readCatalogue(database, input.config), input);
}

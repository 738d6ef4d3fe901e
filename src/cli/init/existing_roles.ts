/** Checks an anonymous role that exists. @module */
import { loadConfig } from "../../config/load.ts";
import { rejectFile } from "../../config/handler_options.ts";
import { diagnose } from "../../diagnosis/diagnose.ts";
import { type Finding, findingsText } from "../../diagnosis/finding.ts";
import { programCall } from "../program_call.ts";
import type { Choices } from "./choices.ts";
import { configFileText } from "./init_conf.ts";
import type { TargetFacts } from "./facts.ts";
import { withServer } from "./server.ts";

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

/** Returns why the anonymous role must not be used; null if it may, or does not exist. */
export async function anonymousErrors(
  uri: string,
  { schema, anonRole }: Choices,
  { roles, hasSchema }: TargetFacts,
): Promise<string | null> {
  if (!hasSchema || !roles.some(({ name }) => name === anonRole)) return null;
  const text = configFileText({
    dbUri: uri,
    schema,
    anonRole,
    jwtSecret: "-".repeat(32),
    lacksPassword: false,
    keepsAnswers: false,
    overrides: new Map(),
  });
  const file = { path: "svc.conf", text };
  const config = loadConfig({ file, environment: {}, readFile: rejectFile });
  const program = programCall();
  const findings = await withServer(uri, (database) => diagnose(database, { config, program }));
  const errors = findings.filter((finding) =>
    finding.level === "error" && refused.has(finding.name) && !isOfPublic(finding)
  );
  if (errors.length === 0) return null;
  return `the role ${anonRole} must not be used for requests without a token:\n` +
    findingsText(errors, { program, source: "" }).trimEnd();
}

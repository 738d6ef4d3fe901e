/** The two files of `svc init`, and the login in the configuration file. @module */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { quote } from "../../../state/config/codecs.ts";
import { rejectFile } from "../../../state/config/handler_options.ts";
import { loadConfig } from "../../../state/config/load.ts";
import type { Config } from "../../../state/config/options.ts";
import { programCall } from "../../../base/lib/program_call.ts";
import { idempotencyTable } from "./init_sql.ts";
import { readText } from "../../../base/lib/files.ts";
import type { OptionTable } from "../../../state/config/options/option.ts";

export interface InitFiles {
  readonly conf: string;
  readonly sql: string;
  /** Options of wings, which are allowed in the configuration file. */
  readonly wingOptions: OptionTable;
}

export function existingFiles({ conf, sql }: InitFiles): readonly string[] {
  return [conf, sql].filter((path) => existsSync(path));
}

/** Writes a file. An existing file is replaced, not overwritten. Only the owner may read a private file. */
export function replaceFile(path: string, text: string, access: "private" | "public"): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: "wx", mode: access === "private" ? 0o600 : 0o666 });
}

/** Returns the configuration in a file, without the environment; null if it cannot be read. */
export function configOfFile({ conf: path, wingOptions }: Omit<InitFiles, "sql">): Config | null {
  try {
    return loadConfig({
      file: { path, text: readText(path) },
      environment: {},
      readFile: rejectFile,
      wingOptions,
    });
  } catch {
    return null;
  }
}

/** Ports of the API and of the admin server. */
export interface ServicePorts {
  readonly api: number;
  readonly admin: number;
}

/** The values that differ between configuration files. */
export interface FileValues {
  readonly dbUri: string;
  readonly schemas: readonly string[];
  readonly anonRole: string;
  readonly jwtSecret: string;
  readonly ports: ServicePorts;
  /** Whether the password of the login role is unknown. */
  readonly lacksPassword: boolean;
  /** Whether the file sets `idempotency-table`. */
  readonly keepsAnswers: boolean;
  /** Options from the command line, by key. */
  readonly overrides: ReadonlyMap<string, string>;
}

type Line = string | readonly [key: string, value: string | number | boolean];

/** Returns the text of the configuration file. An override replaces the line of its option, or adds one. */
export function configFileText(values: FileValues): string {
  const lines = linesOf(values);
  const keys = new Set(lines.flatMap((line) => typeof line === "string" ? [] : [line[0]]));
  const added = Array.from(values.overrides).filter(([key]) => !keys.has(key));
  const all: readonly Line[] = [...lines, ...(added.length === 0 ? [] : [""]), ...added];
  return all.map((line) => `${textOf(line, values.overrides)}\n`).join("");
}

function textOf(line: Line, overrides: FileValues["overrides"]): string {
  if (typeof line === "string") return line;
  const [key, fallback] = line;
  const value = overrides.get(key) ?? fallback;
  return `${key} = ${typeof value === "string" ? quote(value) : value}`;
}

const answerLines: readonly Line[] = [
  "",
  "# Keeps answers to writes with an Idempotency-Key",
  ["idempotency-table", `${idempotencyTable.schema}.${idempotencyTable.name}`],
];

function linesOf(
  { dbUri, schemas, anonRole, jwtSecret, ports, lacksPassword, keepsAnswers }: FileValues,
): readonly Line[] {
  return [
    "# Written by svc init. It holds a password and a secret: keep it out of version control.",
    ...(lacksPassword ? ["# The role exists: write its password into db-uri."] : []),
    ["db-uri", dbUri],
    ["db-schemas", schemas.join(",")],
    ["db-anon-role", anonRole],
    `# Signs and verifies tokens: ${programCall()} token --role=ROLE`,
    ["jwt-secret", jwtSecret],
    "",
    '# This machine alone. In a container: "0.0.0.0", and publish the port to a proxy with TLS.',
    ["server-host", "127.0.0.1"],
    ["server-port", ports.api],
    ["admin-server-host", "127.0.0.1"],
    ["admin-server-port", ports.admin],
    "",
    "# Limits of requests",
    ["db-max-rows", 1000],
    ["db-statement-timeout", "10s"],
    ["server-max-body-size", "10m"],
    "# Refuses PATCH and DELETE without a filter",
    ["db-safe-update", true],
    "",
    "# Closes the connections of clients that send nothing",
    ["server-header-timeout", "30s"],
    ["server-idle-timeout", "30s"],
    ["server-body-timeout", "60s"],
    "",
    '# Errors say what to grant. Set "verbose" before you open the service to the world.',
    ["client-error-verbosity", "advise"],
    "",
    "# Notices changes of tables, views and functions",
    ["db-schema-watch", "auto"],
    ["log-level", "warn"],
    ...(keepsAnswers ? answerLines : []),
  ];
}

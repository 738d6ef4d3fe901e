import { deepStrictEqual, throws } from "node:assert/strict";
import { type ConfigSources, loadConfig } from "../../../../src/state/config/load.ts";
import type { Config } from "../../../../src/state/config/options.ts";

interface FlagSources {
  readonly file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: Readonly<Record<string, string>>;
  readonly databaseUrl?: string;
  readonly database?: Readonly<Record<string, string>>;
  /** Contents of files by path, with the base that resolves the path. */
  readonly files?: Readonly<Record<string, string>>;
}

const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\n';

function load(given: FlagSources): Config {
  const sources: ConfigSources = {
    file: { path: "svc.conf", text: given.file ?? needed },
    environment: given.environment ?? {},
    flags: new Map(
      Object.entries(given.flags ?? {}).map(([key, value]) => [
        key,
        { name: `--${key}`, value },
      ]),
    ),
    databaseUrl: given.databaseUrl ?? null,
    readFile: (path, base) => new TextEncoder().encode(given.files?.[`${base}: ${path}`]),
  };
  return loadConfig(sources, new Map(Object.entries(given.database ?? {})));
}

const rows: readonly (FlagSources & {
  readonly title: string;
  readonly expected: Partial<Record<keyof Config, unknown>>;
})[] = [
  {
    title: "prefers flags to the environment and the file",
    file: `${needed}db-pool = 5`,
    environment: { SVC_DB_POOL: "6" },
    flags: { "db-pool": "7" },
    expected: { dbPool: 7 },
  },
  {
    title: "prefers settings in the database to flags",
    flags: { "db-max-rows": "7" },
    database: { db_max_rows: "8" },
    expected: { dbMaxRows: 8 },
  },
  {
    title: "prefers flags to an alias that precedes its key",
    file: `${needed}db-pool-timeout = 5`,
    flags: { "db-pool-max-idletime": "7" },
    expected: { dbPoolMaxIdletime: 7 },
  },
  {
    title: "lets an empty flag hide file and environment",
    file: `${needed}max-rows = 5\nlog-level = "crit"`,
    environment: { SVC_DB_MAX_ROWS: "6" },
    flags: { "db-max-rows": "", "log-level": "", "db-extra-search-path": "" },
    expected: { dbMaxRows: null, logLevel: "error", dbExtraSearchPath: [] },
  },
  {
    title: "reads files that flags name relative to the working directory",
    file: 'db-schemas = "public"\n',
    flags: { "db-uri": "@uri" },
    files: { "working directory: uri": "postgres://h/x" },
    expected: { dbUri: "postgres://h/x" },
  },
  {
    title: "takes the dialect from a flag",
    file: 'dialect = "svc"\n',
    flags: { "dialect": "pgrst" },
    expected: { dbUri: "postgresql://" },
  },
  {
    title: "takes DATABASE_URL as db-uri",
    file: 'db-schemas = "public"\n',
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgres://h/x" },
  },
  {
    title: "takes DATABASE_URL if SVC_DB_URI is empty",
    file: 'db-schemas = "public"\n',
    environment: { SVC_DB_URI: "" },
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgres://h/x" },
  },
  {
    title: "prefers the file to DATABASE_URL",
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgresql://" },
  },
  {
    title: "prefers the environment to DATABASE_URL",
    file: 'db-schemas = "public"\n',
    environment: { SVC_DB_URI: "postgres://h/y" },
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgres://h/y" },
  },
  {
    title: "prefers a flag to DATABASE_URL",
    file: 'db-schemas = "public"\n',
    flags: { "db-uri": "postgres://h/y" },
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgres://h/y" },
  },
  {
    title: "ignores DATABASE_URL in PostgREST's dialect",
    file: 'dialect = "pgrst"\n',
    databaseUrl: "postgres://h/x",
    expected: { dbUri: "postgresql://" },
  },
];

for (const { title, expected, ...sources } of rows) {
  Deno.test(`loadConfig() ${title}`, () => {
    const config: Readonly<Record<string, unknown>> = { ...load(sources) };
    const found = Object.keys(expected).map((key) => [key, config[key]]);
    deepStrictEqual(Object.fromEntries(found), expected);
  });
}

Deno.test("loadConfig() names the flag or the variable of an invalid value", () => {
  throws(() => load({ flags: { "db-pool": "ten" } }), {
    message: '--db-pool (command line): expected a whole number from 1 to 262143, got "ten"',
  });
  throws(() => load({ file: 'db-schemas = "public"\n', databaseUrl: "mysql://h" }), {
    message: "DATABASE_URL (environment): expected a connection string such as " +
      '"postgres://user:password@host:5432/database", "host=… dbname=…" or "pglite://memory"',
  });
});

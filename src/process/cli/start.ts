/** Reads the configuration of a call. In quick mode, defaults are read from the database. @module */
import process from "node:process";
import type { Config } from "../../state/config/options.ts";
import type { Database } from "../../database/database.ts";
import { environmentName } from "../../state/config/names.ts";
import { pgrstDialect, svcDialect } from "../../base/dialect.ts";
import {
  type ConfigReader,
  configReader,
  openConfiguredDatabase,
} from "../../state/config/config_files.ts";
import { CannotConnectError } from "../../base/errors/connect_error.ts";
import { findNextPort, findPort, isFreePort } from "../../base/lib/free_ports.ts";
import { chooseDefaults, fixedDefaults, type QuickStart } from "./quick/quick_defaults.ts";
import { type QuickServer, readQuickServer } from "./quick/quick_server.ts";
import { connectionName } from "../../state/config/call_words.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import { wingOptions } from "../wings.ts";

export interface Start {
  readonly reader: ConfigReader;
  /** The open database; null if the configuration was read without a database. */
  readonly database: Database | null;
  /** Null if the call is not in quick mode. */
  readonly quick: QuickStart | null;
}

/** Returns whether a call is in quick mode: the database is named by an argument, or only by `DATABASE_URL`. */
export function isQuickMode(
  { file, flags }: ConfigArguments,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const flag = flags.get("db-uri");
  if (flag !== undefined) return flag.name === connectionName;
  const dialect = flags.get("dialect")?.value ?? environment[environmentName("dialect")];
  return file === null && !environment[environmentName("db-uri")] &&
    Boolean(environment["DATABASE_URL"]) && dialect !== pgrstDialect.name;
}

/** Whether the call serves, so that quick mode chooses free ports. */
export type PortUse = "serves" | "serves nothing";

/** Reads the configuration. Rejects with a {@linkcode CannotConnectError} if the database of quick
 * mode is unreachable. */
export async function openStart(
  args: ConfigArguments,
  { ports, defaults = {} }: { readonly ports: PortUse; readonly defaults?: Partial<Config> },
): Promise<Start> {
  if (!isQuickMode(args, process.env)) {
    return { reader: configReader(args, { wingOptions, defaults }), database: null, quick: null };
  }
  const isPgrst = args.flags.get("dialect")?.value === pgrstDialect.name;
  const dialect = isPgrst ? pgrstDialect : svcDialect;
  const fixed = { ...fixedDefaults(dialect), ...defaults };
  const first = configReader(args, {
    wingOptions,
    defaults: { ...fixed, dbSchemas: unsetSchemas, serverPort: unsetPort },
  });
  const { config } = first;
  const database = await openConfiguredDatabase(config, first.file);
  try {
    await database.embedded?.start();
    const server = await readServer(database, config.dbAnonRole);
    const choice = chooseDefaults(server, {
      schemas: config.dbSchemas === unsetSchemas ? null : config.dbSchemas,
      anonRole: config.dbAnonRole,
      host: config.serverHost,
    });
    const chosen: Partial<Config> = {
      ...fixed,
      dbSchemas: choice.schemas,
      dbAnonRole: choice.anonRole,
      dbReadOnly: choice.isLoginRole || server.isReadOnly,
      // A standby accepts no LISTEN, so the service polls the schema.
      ...(server.isStandby ? { dbChannelEnabled: false, dbSchemaWatch: "poll" } as const : {}),
      ...(ports === "serves" ? await portDefaults(config) : {}),
    };
    const reader = configReader(args, { wingOptions, defaults: chosen });
    return { reader, database, quick: { server, choice, isReadOnly: reader.config.dbReadOnly } };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Default of `db-schemas` in the first read. If the option still has it, no source sets it. */
const unsetSchemas: readonly string[] = [];
const unsetPort = -1;

async function readServer(database: Database, anonRole: string | null): Promise<QuickServer> {
  try {
    return await readQuickServer(database, anonRole);
  } catch (thrown) {
    throw new CannotConnectError(thrown);
  }
}

async function portDefaults(
  { serverPort, adminServerPort, serverUnixSocket }: Config,
): Promise<Partial<Config>> {
  const port = serverPort !== unsetPort
    ? serverPort
    : serverUnixSocket === null
    ? await findPort(isFreePort)
    : 3000;
  const adminPort = adminServerPort ?? await findNextPort(port, isFreePort);
  return {
    serverPort: port,
    adminServerPort: adminPort,
    // The console is an allowed origin, because it requests the API from another port.
    serverCorsAllowedOrigins: [`http://127.0.0.1:${adminPort}`, `http://localhost:${adminPort}`],
  };
}

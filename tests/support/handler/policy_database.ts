/** A database with policies, and the setup of commands that send requests in it. @module */
import { noValues } from "../../../src/state/config/load.ts";
import { configSource } from "../../../src/state/config/source.ts";
import { openTransport } from "../../../src/database/open.ts";
import type { RunSetup } from "../../../src/wings/audit/policy_test/case_handler.ts";
import { type Engine, engines } from "../database/engines.ts";
import { wingOptions } from "../../../src/process/wings.ts";

/** A connection, and what runs on it need. */
export interface PolicyDatabase extends AsyncDisposable {
  /** Of a superuser; null for PGlite, which one session uses. */
  readonly uri: string | null;
  readonly setup: RunSetup;
  /** The same as the login role of the service, which owns nothing; null for PGlite. */
  readonly authenticator: RunSetup | null;
}

/** Opens a database with `tests/fixtures/policy_tests.sql`. `options` are further values by name. */
export async function policyDatabase(
  engine: Engine,
  includes: Readonly<Record<string, string>> = {},
  options: Readonly<Record<string, string>> = {},
): Promise<PolicyDatabase> {
  const fixture = { name: "policy_tests", roles: ["web_anon", "web_user"] };
  const database = await engines[engine](fixture);
  const connect = async (uri: string) => {
    const source = configSource({
      wingOptions,
      file: null,
      environment: {},
      flags: new Map([
        ["db-uri", { name: "--db-uri", value: uri }],
        ["db-schemas", { name: "--db-schemas", value: "api" }],
        ["db-anon-role", { name: "--db-anon-role", value: "web_anon" }],
        ...Object.entries(options).map(([key, value]) =>
          [key, { name: `--${key}`, value }] as const
        ),
      ]),
      defaults: {},
      databaseUrl: null,
      readFile: () => new Uint8Array(),
      startupConfig: null,
    });
    const dependencies = { embeddedInit: null, applicationName: "test" };
    const { transport, close } = await openTransport(source.configure(noValues), dependencies);
    const setup: RunSetup = {
      source,
      wings: [],
      observe: () => {},
      now: Date.now,
      transport,
      readInclude: (name) => ({ name, text: includes[name]! }),
    };
    return { setup, close };
  };
  const owner = await connect(database.superuserUri ?? database.uri);
  const other = database.superuserUri === null ? null : await connect(database.uri);
  return {
    uri: database.superuserUri,
    setup: owner.setup,
    authenticator: other?.setup ?? null,
    [Symbol.asyncDispose]: async () => {
      await other?.close();
      await owner.close();
      await database.remove();
    },
  };
}

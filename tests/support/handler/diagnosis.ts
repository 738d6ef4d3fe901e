/** A database that is set up well, for tests that set it up wrongly. @module */
import { createHandler, type Handler } from "../../../mod.ts";
import { loadConfig } from "../../../src/state/config/load.ts";
import type { Config } from "../../../src/state/config/options.ts";
import { diagnose } from "../../../src/wings/audit/diagnosis/diagnose.ts";
import type { Finding } from "../../../src/wings/audit/diagnosis/finding.ts";
import { openDatabase } from "../../../src/database/open.ts";
import { reloadTriggerSql } from "../../../src/state/schema_cache/reload_trigger.ts";
import { prepared, serverVariable } from "../runner/environment.ts";
import { records } from "./records.ts";
import { createDatabase, type PostgresClient, withClient } from "../database/postgres_client.ts";
import { wingOptions } from "../../../src/process/wings.ts";

type HandlerOptions = Parameters<typeof createHandler>[0];

/** Options of the service by their names in the configuration file. */
export type FileOptions = Readonly<Record<string, string>>;

/** One way to set a database up wrongly. `{auth}`, `{anon}` and `{user}` are the roles. */
export interface FindingRow {
  readonly label: string;
  /** Run as a superuser after the correct setup. */
  readonly sql: string;
  readonly options?: FileOptions;
  /** `level name subject: message`; null if no finding has the name `absent`. */
  readonly finding: string | null;
  readonly absent?: string;
  /** SQL of the finding; null if SQL cannot correct it. */
  readonly mend?: string | null;
  /** Only the SQL of all findings together corrects it. Default: its SQL does. */
  readonly together?: true;
  /** Whether the SQL changes answers: it opens or closes what was found. Default: false. */
  readonly changes?: true;
  /** Request without a token, and its status after the SQL. */
  readonly request?: readonly [target: string, status: number];
  /** Lowest and highest major version with this row. Default: all. */
  readonly from?: number;
  readonly to?: number;
}

/** Reads rows of texts: {@linkcode records}. */
export function findingRows(
  strings: TemplateStringsArray,
  ...values: readonly string[]
): readonly FindingRow[] {
  return records(strings, ...values).map(({ label, all, one }) => {
    const options = all("option").map((line) => line.split(" = ") as [string, string]);
    const [target, status] = one("request")?.split(" ") ?? [];
    return {
      label,
      sql: one("sql") ?? "",
      finding: one("finding") ?? null,
      mend: one("mend") ?? null,
      ...(options.length === 0 ? {} : { options: Object.fromEntries(options) }),
      ...(target === undefined ? {} : { request: [target, Number(status ?? 200)] as const }),
      ...(one("absent") && { absent: one("absent")! }),
      ...(one("together") && { together: true as const }),
      ...(one("changes") && { changes: true as const }),
      ...(one("from") && { from: Number(one("from")) }),
      ...(one("to") && { to: Number(one("to")) }),
    };
  });
}

/** A separate database with separate roles. */
export interface DiagnosedDatabase extends AsyncDisposable {
  /** Puts the names of the roles in the place of `{auth}`, `{anon}` and `{user}`. */
  fill(text: string): string;
  /** Runs SQL as a superuser. */
  run(sql: string): Promise<void>;
  readonly superuserUri: string;
  /** The configuration of a service that logs in as `{auth}`. */
  config(options: FileOptions): Config;
  /** Opens a handler with this configuration. */
  handler(options?: FileOptions): Handler;
  diagnose(options: FileOptions): Promise<readonly Finding[]>;
}

/** One table that is open to reading, and to writing by one role, with nothing to find. */
const setup = `
create role {auth} login noinherit password 'secret';
create role {anon};
create role {user};
alter role {anon} set statement_timeout = '5s';
alter role {user} set statement_timeout = '5s';
grant {anon}, {user} to {auth};
revoke create on schema public from public;
create schema api;
grant usage on schema api to {anon}, {user};
create table api.film (id serial primary key, title text);
alter table api.film enable row level security;
create policy film_read on api.film for select using (true);
create policy film_insert on api.film for insert to {user} with check (id > 0);
create policy film_update on api.film for update to {user} using (id > 0);
create policy film_delete on api.film for delete to {user} using (id > 0);
grant select on api.film to {anon}, {user};
grant insert, update, delete on api.film to {user};
grant usage on sequence api.film_id_seq to {user};
insert into api.film (title) values ('Alien');
`;

/** Makes the database on the shared server. */
export async function diagnosedDatabase(): Promise<DiagnosedDatabase> {
  const server = prepared(serverVariable);
  // Files that run at the same time share a process.
  const name = `svc_diagnosis_${crypto.randomUUID().slice(0, 8)}`;
  const names = { auth: `${name}_auth`, anon: `${name}_anon`, user: `${name}_user` };
  const fill = (text: string) =>
    text.replaceAll(/\{(auth|anon|user)\}/g, (_, role: keyof typeof names) => names[role]);
  const uri = new URL(server);
  uri.pathname = `/${name}`;
  const run = async (sql: string) => {
    await withClient(uri.href, (client) => client.query(fill(sql)));
  };
  await withClient(server, (client) => createDatabase(client, name));
  await run(setup + reloadTriggerSql("svc"));
  const config = (options: FileOptions) => {
    const login = new URL(uri);
    [login.username, login.password] = [names.auth, "secret"];
    const filled = Object.entries(options).map(([key, value]) => [key, fill(value)]);
    const common = { "db-uri": login.href, "db-anon-role": names.anon };
    return configOf({ ...common, ...Object.fromEntries(filled) });
  };
  return {
    fill,
    run,
    superuserUri: uri.href,
    config,
    handler(options = {}) {
      const { dbUri, dbSchemas, dbExtraSearchPath, dbAnonRole, jwtSecret, ...others } = config(
        options,
      );
      const { dbPreRequest, dbRootSpec } = others;
      const common = { dbUri, dbSchemas, dbExtraSearchPath, dbAnonRole, jwtSecret };
      return createHandler({ ...common, dbPreRequest, dbRootSpec } as HandlerOptions);
    },
    diagnose: (options) => diagnoseOnce(config(options)),
    [Symbol.asyncDispose]: () =>
      withClient(
        server,
        (client) => removeDatabase(client, name, [...Object.values(names), `${names.anon}_new`]),
      ),
  };
}

/** The configuration of a service that has a secret, limits and no listener beyond this machine. */
export function configOf(options: FileOptions): Config {
  const all = {
    "db-schemas": "api",
    "jwt-secret": "a secret of at least thirty-two bytes",
    "server-host": "127.0.0.1",
    ...options,
  };
  const lines = Object.entries(all).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return loadConfig({
    wingOptions,
    file: { path: "svc.conf", text: lines.join("") },
    environment: {},
    readFile: Deno.readFileSync,
  });
}

async function diagnoseOnce(config: Config): Promise<readonly Finding[]> {
  const database = await openDatabase(config, { embeddedInit: null, applicationName: "test" });
  try {
    return await diagnose(database, { config, program: "svc" });
  } finally {
    await database.close();
  }
}

async function removeDatabase(
  client: PostgresClient,
  name: string,
  roles: readonly string[],
): Promise<void> {
  await client.query(`drop database ${name} with (force)`);
  for (const role of roles) await client.query(`drop role if exists ${role}`);
}

/** A PostgreSQL server and a service of a fault's own. @module */
import { type PostgresClient, withClient } from "../../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../../support/database/postgres_server.ts";
import {
  type FileConfig,
  type ServiceProcess,
  startService,
} from "../../support/server/process.ts";

/** Where a fault happens. */
export interface Place extends AsyncDisposable {
  readonly server: PostgresServer;
  readonly service: ServiceProcess;
  /** Port of the service. */
  readonly port: number;
  /** Lends a connection of the superuser. */
  asOwner<Result>(use: (client: PostgresClient) => Promise<Result>): Promise<Result>;
}

/** What a place is made of, beside the defaults. */
export interface PlaceOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly config?: FileConfig;
  /** SQL after that of {@linkcode schema}. */
  readonly sql?: string;
}

/** What is read, in the order of `id`. */
export const things: readonly { readonly id: number; readonly name: string }[] = Array.from(
  { length: 20 },
  (_, index) => ({ id: index + 1, name: `thing ${index + 1}` }),
);

/** Password of `authenticator`. */
export const password = "authenticator's";

/** Marks have no key, so that a row that is written twice shows. */
export const schema = `
  create role anon nologin;
  create role authenticator login noinherit password '${password.replaceAll("'", "''")}';
  grant anon to authenticator;
  create schema api;
  grant usage on schema api to anon;
  create table api.things (id int primary key, name text not null);
  insert into api.things select i, 'thing ' || i from generate_series(1, 20) as i;
  create table api.marks (mark int not null, note text);
  grant select on api.things to anon;
  grant select, insert on api.marks to anon;
`;

/** Starts a server with {@linkcode schema} and a service on it, and waits until it listens. */
export async function openPlace(options: PlaceOptions = {}): Promise<Place> {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(
    await startPostgres({ cluster: "copied", settings: options.settings }),
  );
  const asOwner: Place["asOwner"] = (use) => withClient(server.uri(), use);
  await asOwner((client) => client.query(schema + (options.sql ?? "")));
  const uri = server.uri({ user: "authenticator", password });
  const service = resources.use(await startOn(uri, options.config));
  const owned = resources.move();
  return {
    server,
    service,
    port: portOf(service),
    asOwner,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Starts a service and waits until it listens. */
export async function startOn(uri: string, config: FileConfig = {}): Promise<ServiceProcess> {
  const service = await startService({
    "db-uri": uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "log-level": "crit",
    // How fast the machine is must not fail a request that waits in turn.
    "db-pool-acquisition-timeout": 600,
    ...config,
  });
  await service.listening();
  return service;
}

/** Port of the API. */
export function portOf({ origin }: ServiceProcess): number {
  return Number(new URL(origin).port);
}

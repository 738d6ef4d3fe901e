/** A service over the tables of a small video shop, for tests of the console. @module */
import { engines } from "../database/engines.ts";
import { withClient } from "../database/postgres_client.ts";
import { testSecret } from "../handler/token.ts";
import { type FileConfig, type ServiceProcess, startService } from "./process.ts";

const config = {
  "db-schemas": "api",
  "db-anon-role": "anon",
  "jwt-secret": testSecret,
  "db-plan-enabled": true,
  "db-tx-end": "commit-allow-override",
  "etag-mode": "on",
  "db-aggregates-enabled": true,
  "admin-sign-in": true,
} as const;

/** Runs with the service. Its login role is a member of two roles, whatever roles other tests have made. */
export async function withConsole(
  run: (service: ServiceProcess) => Promise<void>,
  options: FileConfig = {},
): Promise<void> {
  const database = await engines.pg({ name: "console", roles: ["anon", "writer"] });
  const uri = new URL(database.superuserUri!);
  const login = `${uri.pathname.slice(1)}_login`;
  const asSuperuser = (sql: string) => withClient(uri.href, (client) => client.query(sql));
  await asSuperuser(`create role ${login} login noinherit password 'p' in role anon, writer`);
  {
    const own = Object.assign(new URL(uri), { username: login, password: "p" });
    await using service = await startService({ ...config, ...options, "db-uri": own.href });
    await service.listening();
    await run(service);
  }
  await asSuperuser(`drop role ${login}`);
  await database.remove();
}

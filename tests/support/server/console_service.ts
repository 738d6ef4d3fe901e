/** A service over the tables of a small video shop, for tests of the console. @module */
import { engines } from "../database/engines.ts";
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

/** Runs with the service. */
export async function withConsole(
  run: (service: ServiceProcess) => Promise<void>,
  options: FileConfig = {},
): Promise<void> {
  const database = await engines.pg({ name: "console", roles: ["anon", "writer"] });
  {
    await using service = await startService({ ...config, ...options, "db-uri": database.uri });
    await service.listening();
    await run(service);
  }
  await database.remove();
}

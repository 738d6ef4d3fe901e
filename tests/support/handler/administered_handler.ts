/** A handler over a separate database, and a client that changes the database without the handler.
 * @module */
import { createHandler, type Handler, type HandlerOptions } from "../../../mod.ts";
import { engines } from "../database/engines.ts";
import { type PostgresClient, withClient } from "../database/postgres_client.ts";

/** What a test works with. */
export interface Administered {
  readonly handler: Handler;
  /** A superuser. */
  readonly admin: PostgresClient;
}

/** Lends a handler that is ready, whose database was given `sql`; anonymous requests are of `anon`. */
export async function withAdministeredHandler(
  sql: string,
  config: Omit<HandlerOptions, "dbUri" | "dbAnonRole">,
  use: (administered: Administered) => Promise<void>,
): Promise<void> {
  const database = await engines.pg({ name: "tools", roles: ["anon", "writer"] });
  try {
    await withClient(database.superuserUri!, async (admin) => {
      await admin.query(sql);
      const handler = createHandler({ ...config, dbUri: database.uri, dbAnonRole: "anon" });
      try {
        await handler.ready();
        await use({ handler, admin });
      } finally {
        await handler.close();
      }
    });
  } finally {
    await database.remove();
  }
}

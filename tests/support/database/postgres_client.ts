/** A plain connection for what tests do beside the service. @module */
import pg from "pg";

/** Runs SQL text, which may be several statements; `rows` are those of the last one. */
export interface PostgresClient {
  query(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

/** Lends a connection and closes it afterwards. */
export async function withClient<Result>(
  uri: string,
  use: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: uri });
  // Without a listener, the loss of an idle connection would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** A plain connection for statements of tests. @module */
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

/**
 * Creates a database. Its files are copied where the server can choose that: without fsync that takes
 * about half the processor time of logging each page.
 */
export async function createDatabase(
  client: PostgresClient,
  name: string,
  template = "template1",
): Promise<void> {
  const { rows: [version] } = await client.query("show server_version_num");
  const strategy = Number(version!.server_version_num) < 150000 ? "" : "strategy file_copy";
  await client.query(`create database ${name} template ${template} ${strategy}`);
}

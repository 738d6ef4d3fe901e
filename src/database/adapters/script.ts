/** A connection for the SQL texts of operators. @module */
import { SqlSession } from "../connection/sql_session.ts";
import { targetsOf } from "./postgres.ts";
import { connect } from "./socket_transport.ts";

export interface ScriptConnection {
  /** Host and port: `localhost:5432`. For a Unix socket, the host is the folder of the socket. */
  readonly place: string;
  readonly database: string;
  readonly user: string;
  readonly session: SqlSession;
}

/** Lends a connection. Rejects with an `Error` that has the reason if connecting fails. */
export async function withScriptConnection<Result>(
  uri: string,
  applicationName: string,
  use: (connection: ScriptConnection) => Promise<Result>,
): Promise<Result> {
  const dialect = { namesApplicationInKeywords: true };
  const config = { dbUri: uri, dbPoolAcquisitionTimeout: 10, dialect };
  const targets = targetsOf(config, { applicationName });
  const transport = await connect(targets);
  const session = new SqlSession(transport);
  try {
    const { results } = await session.run("select current_database(), current_user");
    const [database, user] = results[0]?.rows[0] ?? [];
    const { place } = transport;
    return await use({ place, database: String(database), user: String(user), session });
  } finally {
    session.close();
  }
}

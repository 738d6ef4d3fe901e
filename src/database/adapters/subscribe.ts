/** Listens to a channel over a connection outside of the pool. @module */
import { quoteIdent } from "../../base/sql/fragment.ts";
import type { Targets } from "../connect/targets.ts";
import { Connection } from "../connection/connection.ts";
import { executeSingle, singleStatementOptions } from "../connection/single_statement.ts";
import type { Subscription, SubscriptionEvents } from "../database.ts";
import { connect } from "./socket_transport.ts";

/** Maximum time of an answer. If none arrives, the connection is closed. */
const maxSilenceMs = 5000;
/** Maximum time of the first LISTEN, which reads the server's queue of notifications. */
const maxOpeningMs = 30_000;

/** Opens a subscription. Connects to a primary, because standbys cannot listen. */
export async function subscribe(
  targets: Targets,
  channel: string,
  events: SubscriptionEvents,
): Promise<Subscription> {
  const transport = await connect(primariesOf(targets));
  /** Whether the subscription was returned, and has not ended. */
  let isOpen = false;
  const connection = new Connection(transport, singleStatementOptions, {
    closed: (reason) => {
      if (isOpen) events.lost(reason);
    },
    notified: (notification) => {
      if (notification.channel === channel) events.notified(notification.payload);
    },
  });
  const listen = (maxMs: number) =>
    executeSingle(`LISTEN ${quoteIdent(channel)}`, { connection, maxMs });
  try {
    const opening = { connection, maxMs: maxOpeningMs };
    const rows = await executeSingle("select pg_catalog.version()", opening);
    await listen(maxOpeningMs);
    isOpen = true;
    transport.unref();
    return {
      version: String(rows[0]?.[0]),
      place: transport.place,
      // A repeated LISTEN has no effect, so it can test the connection.
      ask: async () => void await listen(maxSilenceMs),
      close: () => {
        isOpen = false;
        // The connection is destroyed, so that a pending `ask` rejects.
        if (connection.state === "busy") connection.destroy("the subscription was closed");
        connection.end();
        return Promise.resolve();
      },
    };
  } catch (error) {
    connection.end();
    throw error;
  }
}

/**
 * Returns the servers with the session attributes that notifications need. A primary that is
 * read-only by default can send and receive notifications. So `read-write` is only required if the
 * connection string requires it.
 */
export function primariesOf(targets: Targets): Targets {
  return targets.session === "read-write" ? targets : { ...targets, session: "primary" };
}

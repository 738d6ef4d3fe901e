/** Listens to a channel over a connection of `npm:pg`. @module */
import { quoteIdent } from "../../base/sql/fragment.ts";
import { type Client, clients } from "../connect/pg_client.ts";
import type { Subscription, SubscriptionEvents } from "../database.ts";
import { connectToFirst } from "../connect/hosts.ts";
import type { Targets } from "../connect/targets.ts";

/** Opens a subscription. Connects to a primary, because standbys cannot listen. */
export async function subscribe(
  targets: Targets,
  channel: string,
  events: SubscriptionEvents,
): Promise<Subscription> {
  const client = await connectToFirst(primariesOf(targets), clients);
  /** From the return of the subscription to its end. */
  let isOpen = false;
  const lost = (reason: string) => {
    const wasOpen = isOpen;
    isOpen = false;
    if (wasOpen) events.lost(reason);
  };
  client.on("error", (error) => lost(error.message));
  client.on("end", () => lost("the connection was closed by the server"));
  client.on("notification", (message) => {
    if (message.channel === channel) events.notified(message.payload ?? "");
  });
  try {
    const version = await readVersion(client);
    await listen(client, channel);
    isOpen = true;
    client.connection.stream.unref?.();
    return {
      version,
      place: `${client.host}:${client.port}`,
      ask: () => ask(client, channel),
      close: async () => {
        isOpen = false;
        await end(client);
      },
    };
  } catch (error) {
    await end(client);
    throw error;
  }
}

/** Maximum time without an answer from the server. The connection is then closed. */
const maxSilenceMs = 5000;

async function ask(client: Client, channel: string): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), maxSilenceMs);
  // Changes nothing on a connection that listens.
  await listen(client, channel).finally(() => clearTimeout(timer));
}

async function listen(client: Client, channel: string): Promise<void> {
  await client.query(`LISTEN ${quoteIdent(channel)}`);
}

/**
 * Returns the servers with the session attributes that notifications need. A primary that is
 * read-only by default can send and receive them, so `read-write` is only required if the
 * connection string requires it.
 */
export function primariesOf(targets: Targets): Targets {
  return targets.session === "read-write" ? targets : { ...targets, session: "primary" };
}

async function readVersion(client: Client): Promise<string> {
  const { rows } = await client.query("select pg_catalog.version()");
  return String(rows[0]?.["version"]);
}

/** Time that the server has to close the connection, which is then destroyed. */
const endTimeoutMs = 200;

async function end(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), endTimeoutMs);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

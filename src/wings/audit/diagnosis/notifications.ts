/** The finding that notifications are lost, for example by a pooler in transaction mode. @module */
import type { Config } from "../../../state/config/options.ts";
import type { Database, Notifications } from "../../../database/database.ts";
import { NotificationProbe } from "../../../database/notifications/notification_probe.ts";
import { deferred } from "../../../base/lib/deferred.ts";
import { schedule } from "../../../base/lib/timers.ts";
import type { Finding } from "./finding.ts";

/**
 * Listens, sends a notification over another connection, and returns a finding if it does not
 * arrive within 5 s. Returns no finding if the service does not listen, or if listening or sending
 * fails.
 */
export async function notificationFindings(
  { notifications }: Pick<Database, "notifications">,
  { dbChannel, dbChannelEnabled, dbSchemaWatch }: Pick<
    Config,
    "dbChannel" | "dbChannelEnabled" | "dbSchemaWatch"
  >,
): Promise<readonly Finding[]> {
  if (!dbChannelEnabled || notifications?.notify === undefined) return [];
  const { subscribe, notify } = notifications;
  const arrives = await arrivesOn(dbChannel, { subscribe, notify });
  return arrives ? [] : [lostFinding(dbChannel, dbSchemaWatch)];
}

/** Returns the finding. Without notifications, a service with `auto` or `poll` polls the catalogs. */
function lostFinding(channel: string, watch: Config["dbSchemaWatch"]): Finding {
  const lost = `notifications on the channel ${channel} do not arrive: `;
  return {
    name: "notify-lost",
    level: watch === "notify" ? "error" : "info",
    subject: channel,
    message: watch === "notify"
      ? `${lost}use a db-uri without a pooler, or set db-schema-watch = "poll"`
      : `${lost}the service polls the catalogs instead`,
    sql: null,
  };
}

async function arrivesOn(
  channel: string,
  { subscribe, notify }: Required<Notifications>,
): Promise<boolean> {
  const { promise, resolve } = deferred<boolean>();
  const probe = new NotificationProbe({
    // If svc cannot send a notification, the test ends without a finding.
    notify: (name, payload) =>
      notify(name, payload).catch((error) => {
        resolve(true);
        throw error;
      }),
    makeNonce: () => crypto.randomUUID(),
    schedule,
  });
  try {
    const subscription = await subscribe(channel, {
      notified: (payload) => probe.arrived(payload),
      lost: () => resolve(true),
    });
    try {
      await probe.start(channel, (result) => resolve(result === "arrived"));
      return await promise;
    } finally {
      probe.cancel();
      await subscription.close();
    }
  } catch {
    return true;
  }
}

/**
 * Tries the capabilities of a server, beside those of the service's own probe: notifications and prepared
 * statements.
 *
 * @module
 */
import {
  type Capability,
  capabilityFacts,
  capabilityNames,
  probeCapabilities,
} from "../../src/database/capabilities.ts";
import type { Database } from "../../src/database/database.ts";
import {
  NotificationProbe,
  randomNonce,
} from "../../src/database/notifications/notification_probe.ts";
import { openDatabase } from "../../src/database/open.ts";
import { svcDialect } from "../../src/dialect.ts";
import { scheduleAwaited } from "../../src/lib/timers.ts";

/** One line of the table. */
export interface CapabilityRow {
  readonly name: string;
  readonly state: "yes" | "no" | "REQUIRED" | "not tried";
  readonly note: string;
}

/** Capabilities that the requests show, or that nothing but their use shows. */
const untried: ReadonlySet<Capability> = new Set(["catalogue", "cancel"]);

/** Connects and tries everything. Rejects if it cannot connect. */
export async function capabilityRows(
  uri: string,
): Promise<{ readonly version: string; readonly rows: readonly CapabilityRow[] }> {
  const database = await openProbed(uri);
  let losesStatements = false;
  database.watch({ trace: null, onPooler: () => losesStatements = true });
  try {
    const { missing } = await probeCapabilities({
      run: (batch) => database.transaction(batch),
      excluded: untried,
      onIsolationRefused: () =>
        database.configure({ prepare: false, queueTargetMs: 0, setsIsolation: false }),
    });
    const version = await database.version();
    const reasons = new Map<Capability, string>(missing);
    const loss = await notificationLoss(database);
    if (loss !== null) reasons.set("notify", loss);
    const rows = capabilityNames.map((name) => rowOf(name, reasons.get(name)));
    return { version, rows: [...rows, statementRow(losesStatements)] };
  } finally {
    await database.close();
  }
}

function openProbed(uri: string): Promise<Database> {
  return openDatabase({
    dbUri: uri,
    dbPool: 2,
    dbPoolAcquisitionTimeout: 10,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
    dbPreparedStatements: "auto",
    dialect: svcDialect,
  }, { embeddedInit: null, applicationName: "svc probe" });
}

function rowOf(name: Capability, reason: string | undefined): CapabilityRow {
  const { meaning, effect, isRequired = false } = capabilityFacts[name];
  if (untried.has(name)) return { name, state: "not tried", note: meaning };
  if (reason === undefined) return { name, state: "yes", note: meaning };
  return { name, state: isRequired ? "REQUIRED" : "no", note: `${reason}: ${effect}` };
}

function statementRow(losesStatements: boolean): CapabilityRow {
  const name = "prepared statements";
  if (!losesStatements) return { name, state: "yes", note: "they outlast a transaction" };
  const note = 'a pooler loses them: set db-prepared-statements = "auto"';
  return { name, state: "no", note };
}

const channel = "svc_probe";

/** Listens, and sends a notification. Resolves with the reason why it does not arrive; null if it does. */
async function notificationLoss({ subscribe, notify }: Database): Promise<string | null> {
  if (subscribe === null) return "the connection cannot listen";
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const probe = notify === undefined
    ? null
    : new NotificationProbe({ notify, makeNonce: randomNonce, schedule: scheduleAwaited });
  try {
    const subscription = await subscribe(channel, {
      notified: (payload) => probe?.arrived(payload),
      lost: (reason) => resolve(reason),
    });
    try {
      if (probe === null) return null;
      await probe.start(
        channel,
        (result) =>
          resolve(result === "arrived" ? null : "a pooler in transaction mode loses LISTEN"),
      );
      return await promise;
    } finally {
      await subscription.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

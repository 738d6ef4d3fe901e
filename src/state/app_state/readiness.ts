/** Whether the service is ready for requests. The admin server and its metrics use it. @module */
import type { AppStateBase } from "./app_state_base.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { ReloadNotifications } from "./reload_notifications.ts";
import type { SchemaLoader } from "./schema_loader.ts";

interface ReadinessParts {
  readonly state: AppStateBase;
  readonly heartbeat: Pick<Heartbeat, "isSilent">;
  readonly loader: Pick<SchemaLoader, "last">;
  readonly notifications: Pick<ReloadNotifications, "isConnected" | "lostForMs">;
}

export class Readiness {
  readonly #parts: ReadinessParts;
  #isShutdownAnnounced = false;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
    this.#registerGauges();
  }

  /** Makes the service report from now on that it is not ready. It still serves requests. */
  announceShutdown(): void {
    this.#isShutdownAnnounced = true;
  }

  /** Resolves with whether the service is ready. Queries the database if the listener is not connected. */
  async check(): Promise<boolean> {
    if (!this.#mayBeReady) return false;
    const { notifications, state: { database } } = this.#parts;
    if (notifications.isConnected === true) return true;
    return await database.version().then(() => true, () => false);
  }

  /** Whether the service is ready, unless a query of the database fails. */
  get #mayBeReady(): boolean {
    const { state, heartbeat, loader, notifications } = this.#parts;
    const { cache, config } = state.snapshot;
    if (this.#isShutdownAnnounced || cache === null || !loader.last.isReached) return false;
    if (config.dbReplicaFallback === "error" && state.database.standbys?.isServing === false) {
      return false;
    }
    if (heartbeat.isSilent) return false;
    return notifications.isConnected !== false ||
      notifications.lostForMs < state.dialect.maxListenerLossMs;
  }

  #registerGauges(): void {
    const { state, heartbeat, loader, notifications } = this.#parts;
    const gauge = (name: string, help: string, read: () => boolean | number | null) =>
      state.metricRegistry.gauge({ name, help }, () => {
        const value = read();
        return value === null ? [] : [[[], Number(value)]];
      });
    gauge(
      "schema_cache_query_time_seconds",
      "The query time in seconds of the last schema cache load",
      () => loader.last.querySeconds,
    );
    gauge("ready", "Whether the service is ready", () => this.#mayBeReady);
    gauge(
      "database_up",
      "Whether the database is connected and answers",
      () => loader.last.isReached && !heartbeat.isSilent,
    );
    gauge(
      "schemas_missing",
      "Schemas of db-schemas and db-extra-search-path that the last load did not find",
      () => loader.last.missingSchemas,
    );
    gauge(
      "listener_up",
      "Whether the listening connection is open",
      () => notifications.isConnected,
    );
  }
}

/** Interface between a handler and its admin server (`src/process/server/create_admin.ts`), which
 * may be in different bundles. @module */
import type { Observation } from "../../base/observe/observation.ts";
import type { AppState } from "../../state/app_state/app_state.ts";

/** Name of the method that `createAdmin` calls on a handler. */
export const adminExtension: unique symbol = Symbol.for("svc.admin") as never;

/** Receives the events of a handler. */
export interface HandlerWatcher {
  /** Called when the service has started, before its first request. */
  start(appState: AppState): void;
  observe(event: Observation): void;
  /** Returns whether the time of requests in the queue and in the database is measured. */
  isTimed(): boolean;
  /** Called when the handler was closed. */
  close(): void;
}

/** A handler that accepts a watcher. */
export interface WatchableHandler {
  /**
   * Sets the watcher. Returns a function that starts the service; it resolves with the service or,
   * after `close()`, with null. Throws after the first request, after `close()`, and for a second
   * watcher.
   */
  readonly [adminExtension]?: (watcher: HandlerWatcher) => () => Promise<AppState | null>;
}

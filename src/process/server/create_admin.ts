/**
 * The admin server of a handler, as a function for programs that serve it behind a login.
 *
 * ```ts ignore
 * import { createHandler } from "svc-api";
 * import { createAdmin } from "svc-api/admin";
 *
 * const admin = createAdmin(createHandler({ dbUri, dbSchemas: ["api"] }));
 * ```
 *
 * @module
 */
import { auditData } from "../../wings/audit/audit_data.ts";
import {
  adminExtension,
  type HandlerWatcher,
  type WatchableHandler,
} from "../../api/handler/admin_port.ts";
import type { Handler } from "../../api/lazy_handler.ts";
import type { AdminConsole } from "../../api/wing.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { adminHandler } from "./admin.ts";
import { openConsole } from "../../wings/console/server/console.ts";
import type { AdminHandler } from "../../base/http/admin_route.ts";

/** Data about a request that `Request` does not have. */
export interface AdminRequestInfo {
  /**
   * Peer address without port; null for Unix sockets. Default: unknown, which is treated as another
   * machine.
   */
  readonly client?: string | null;
  /** Whether the program has verified by a login that this person may read everything on the admin
   * server. The peer then need not be local. Default: false. */
  readonly isTrusted?: boolean;
}

/** Handles a request to the admin server. */
export type Admin = (request: Request, info?: AdminRequestInfo) => Promise<Response>;

/**
 * Returns the admin server of a handler of `createHandler`: probes, metrics and the console. Its
 * first request starts the handler. After `close()` of the handler, each response is an empty 503.
 *
 * Inner paths require `adminToken` if it is set. Otherwise they accept only a local peer or a
 * trusted request. The rules for `Host` and for pages of other sites apply to every request.
 *
 * Throws an `Error` for another kind of handler, and for one that has started, was closed, or has
 * an admin server.
 */
export function createAdmin(handler: Handler): Admin {
  const watch = (handler as WatchableHandler)[adminExtension];
  if (watch === undefined) throw new Error("createAdmin: expected a handler of createHandler");
  let started: AppState | null = null;
  let handle: AdminHandler | null = null;
  const adminConsole = openConsole(() => started?.database.counts() ?? null);
  const watcher: HandlerWatcher = {
    start: (appState) => void (started = appState),
    observe: (event) => adminConsole.observe(event),
    isTimed: () => adminConsole.isWatched,
    close: () => adminConsole.stop(),
  };
  const startAppState = watch(watcher);
  return async function admin(request, { client, isTrusted } = {}) {
    const appState = await startAppState();
    if (appState === null) return new Response(null, { status: 503 });
    handle ??= handlerOf(appState, { handler, adminConsole });
    return await handle(request, { client, isTrusted: isTrusted === true });
  };
}

function handlerOf(
  appState: AppState,
  { handler, adminConsole }: { readonly handler: Handler; readonly adminConsole: AdminConsole },
): AdminHandler {
  const isLive = () => true;
  const data = auditData(appState, { program: "svc", isLoginRole: false });
  const { adminConsoleEnabled } = appState.snapshot.config;
  const consoleRoute = adminConsoleEnabled
    ? adminConsole.routes(appState, { handleApi: handler, data, isLive })
    : undefined;
  return adminHandler(appState, { isLive, consoleRoute });
}

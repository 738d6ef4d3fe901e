/** The part of the state that the request handler uses. @module */
import type { RevocationList } from "./revocation_list.ts";
import type { AppState } from "./app_state.ts";

/** State of a thread: one that loads the state, or one that follows such a thread. */
export interface HandlerState extends
  Pick<
    AppState,
    | "activeSpan"
    | "database"
    | "dialect"
    | "ending"
    | "handleFailure"
    | "isReady"
    | "isTimed"
    | "metricRegistry"
    | "now"
    | "observe"
    | "reloadIfStale"
    | "requestMetrics"
    | "retryAfter"
    | "setSpanAttribute"
    | "snapshot"
    | "traceStage"
  > {
  readonly revocations: Pick<RevocationList, "current">;
}

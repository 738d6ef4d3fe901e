/** The part of the state that the request handler uses. @module */
import type { RevocationList } from "./revocation_list.ts";
import type { AppState } from "./app_state.ts";

/** The state of a thread that loads it, or of one that follows another. */
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

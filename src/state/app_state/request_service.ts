/** The part of a service that the handler of requests uses. @module */
import type { RevocationList } from "./revocation_list.ts";
import type { Service } from "./service.ts";

/** A service that loads its own state, or one that follows another. */
export interface RequestService extends
  Pick<
    Service,
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

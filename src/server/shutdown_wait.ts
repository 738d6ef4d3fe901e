/** Keeps serving for a time after SIGTERM, while `/ready` returns 503. Load balancers then send no
 * new requests before the server closes its socket. @module */
import { withTimeout } from "../lib/time_limits.ts";
import type { Schedule } from "../lib/timers.ts";
import type { Observation } from "../observe/observation.ts";
import type { Service } from "../service/service.ts";
import type { Listening } from "./listen.ts";

/** Dependencies of {@linkcode waitBeforeShutdown}. */
export interface ShutdownWait {
  /** Seconds to serve; 0 for none. */
  readonly period: number;
  readonly service: Pick<Service, "announceShutdown">;
  readonly api: Pick<Listening, "closeConnections">;
  /** Ends the wait early. */
  readonly cut: Promise<void>;
  readonly observe: (event: Observation) => void;
  /** Default: the runtime's timers. */
  readonly schedule?: Schedule;
}

/**
 * Resolves when the period is over, or cut. In its second half each response closes its connection, so
 * that clients without a balancer connect elsewhere.
 */
export async function waitBeforeShutdown(
  { period, service, api, cut, observe, schedule }: ShutdownWait,
): Promise<void> {
  if (period === 0) return;
  service.announceShutdown();
  observe({ kind: "shutdown-waiting", seconds: period });
  let isCut = false;
  const ended = cut.then(() => void (isCut = true));
  await withTimeout(period * 500, ended, schedule);
  if (isCut) return;
  api.closeConnections();
  await withTimeout(period * 500, ended, schedule);
}

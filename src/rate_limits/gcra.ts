/** The generic cell rate algorithm (GCRA, ITU-T I.371), by which policies admit requests. @module
 */

/** A policy in microseconds. */
export interface Rate {
  /** Time between two requests at the steady rate. */
  readonly interval: number;
  /** How far ahead of time a request may arrive: that of `burst - 1` requests. */
  readonly tolerance: number;
}

/** A decision about one request. */
export interface Decision {
  readonly isAdmitted: boolean;
  /**
   * The theoretical arrival time to store if the request is charged. Also stored for a refused request
   * if it is earlier than the current one, which a previous rate has set.
   */
  readonly arrival: number;
  /** How many further requests are admitted at this moment, once this one is charged. */
  readonly remaining: number;
  /** Microseconds until one more than those is admitted. */
  readonly wait: number;
}

/** Returns the rate of a policy. */
export function rateOf(
  { count, windowSeconds, burst }: {
    readonly count: number;
    readonly windowSeconds: number;
    readonly burst: number;
  },
): Rate {
  const interval = Math.max(1, Math.floor(windowSeconds * 1e6 / count));
  return { interval, tolerance: (burst - 1) * interval };
}

/** Decides about a request at `now`, of a key with this theoretical arrival time (0 for a new key). */
export function decide({ interval, tolerance }: Rate, arrival: number, now: number): Decision {
  // A reload may have made the window shorter: no key waits longer than after its whole burst.
  const earliest = Math.min(Math.max(arrival, now), now + tolerance + interval);
  const isAdmitted = earliest - now <= tolerance;
  const next = isAdmitted ? earliest + interval : earliest;
  const slack = tolerance + now - next;
  const remaining = slack < 0 ? 0 : Math.floor(slack / interval) + 1;
  return {
    isAdmitted,
    arrival: next,
    remaining,
    wait: next + remaining * interval - tolerance - now,
  };
}

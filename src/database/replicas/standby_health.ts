/**
 * Decides by the answers of a standby whether it is healthy.
 *
 * @module
 */

/** An answer of a standby, or its absence. */
export type HealthReport =
  | { readonly kind: "in recovery" }
  /** The server is a primary, for example after its promotion. */
  | { readonly kind: "not in recovery" }
  /** Another database cluster answers. */
  | { readonly kind: "foreign" }
  | { readonly kind: "failed"; readonly reason: string }
  /** No answer came in time. */
  | { readonly kind: "timed out" };

/** Failures in a row that exclude a standby, and answers in a row that include it again. */
const [maxFailures, minAnswers] = [2, 2];

/** State of a standby. `new`: no answer has come, so the first one includes it. */
type HealthState = "new" | "healthy" | "excluded";

/** Health of one standby. */
export class StandbyHealth {
  #state: HealthState = "new";
  #failures = 0;
  #answers = 0;
  #reason = "it has not answered yet";

  get isHealthy(): boolean {
    return this.#state === "healthy";
  }

  /** Why the standby is not healthy. */
  get reason(): string {
    return this.#reason;
  }

  /** Whether something is known of the standby. */
  get isKnown(): boolean {
    return this.#state !== "new";
  }

  record(report: HealthReport): void {
    switch (report.kind) {
      case "in recovery":
        return this.#answered();
      case "not in recovery":
        return this.#exclude("it is not in recovery");
      case "foreign":
        return this.#exclude("it has another system identifier than the primary");
      case "timed out":
        return this.#exclude("it does not answer");
      case "failed":
        this.#answers = 0;
        if (++this.#failures >= maxFailures) this.#exclude(report.reason);
        return;
      default:
        return report satisfies never;
    }
  }

  #answered(): void {
    this.#failures = 0;
    this.#answers++;
    if (this.#state === "new" || this.#answers >= minAnswers) this.#state = "healthy";
  }

  #exclude(reason: string): void {
    this.#state = "excluded";
    this.#answers = 0;
    this.#reason = reason;
  }
}

/** Chooses the server with the lower load of two at random, by the peak EWMA of its service time.
 * Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001. @module */

/** Time constant of the average: older service times count for less. */
const decayMs = 10_000;

export class ServiceLoad {
  #inFlight = 0;
  #averageMs = 0;
  #recordedAt = -Infinity;

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Decays without batches, so that a server which was slow once is tried again. */
  cost(now: number): number {
    return this.#averageMs * this.#weight(now) * (this.#inFlight + 1);
  }

  begin(): void {
    this.#inFlight++;
  }

  end(): void {
    this.#inFlight--;
  }

  /** Records a service time. A longer one than the average replaces it at once. */
  record(serviceMs: number, now: number): void {
    const weight = this.#weight(now);
    this.#recordedAt = now;
    this.#averageMs = serviceMs > this.#averageMs
      ? serviceMs
      : this.#averageMs * weight + serviceMs * (1 - weight);
  }

  #weight(now: number): number {
    return Math.exp(-(now - this.#recordedAt) / decayMs);
  }
}

/** Returns the server with the lower cost of two at random; null without servers. */
export function chooseOfTwo<Server extends { readonly load: ServiceLoad }>(
  servers: readonly Server[],
  { random, now }: { readonly random: () => number; readonly now: number },
): Server | null {
  if (servers.length < 2) return servers[0] ?? null;
  const first = Math.floor(random() * servers.length);
  const other = Math.floor(random() * (servers.length - 1));
  const second = other < first ? other : other + 1;
  const [one, two] = [servers[first]!, servers[second]!];
  return two.load.cost(now) < one.load.cost(now) ? two : one;
}

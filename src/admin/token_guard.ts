/** Compares tokens of requests with `admin-token`, and limits wrong ones. @module */

/** Wrong tokens of one peer within {@linkcode windowMs} before the guard refuses further ones. */
const maxFailures = 10;

/** Milliseconds in which failures are counted, and for which a peer is refused then. */
const windowMs = 60_000;

/** Peers that the guard remembers. Beyond them it forgets the oldest. */
const maxPeers = 10_000;

interface Failures {
  readonly since: number;
  readonly count: number;
}

/** Checks tokens, and counts wrong ones per peer. */
export class TokenGuard {
  readonly #now: () => number;
  readonly #failures = new Map<string, Failures>();

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Compares digests in constant time. The right token is valid whatever the peer sent before: peers behind
   * one proxy have one address. A request without a token counts as no attempt.
   */
  async check(
    sent: string | null,
    { client, token }: { readonly client: string | null | undefined; readonly token: string },
  ): Promise<"valid" | "invalid" | "blocked"> {
    if (sent === null) return "invalid";
    const peer = client ?? "";
    if (areEqual(await digest(sent), await digest(token))) {
      this.#failures.delete(peer);
      return "valid";
    }
    if (this.#isBlocked(peer)) return "blocked";
    this.#count(peer);
    return "invalid";
  }

  #isBlocked(peer: string): boolean {
    const failures = this.#failures.get(peer);
    return failures !== undefined && failures.count >= maxFailures && !this.#isOver(failures);
  }

  #isOver({ since }: Failures): boolean {
    return this.#now() - since >= windowMs;
  }

  #count(peer: string): void {
    const previous = this.#failures.get(peer);
    const starts = previous === undefined || this.#isOver(previous);
    const count = starts ? 1 : previous.count + 1;
    // The minute of refusal begins with the last failure that was counted.
    const since = starts || count >= maxFailures ? this.#now() : previous.since;
    this.#failures.delete(peer);
    this.#failures.set(peer, { since, count });
    if (this.#failures.size <= maxPeers) return;
    const [oldest] = this.#failures.keys();
    this.#failures.delete(oldest!);
  }
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.reduce((difference, byte, index) => difference | (byte ^ right[index]!), 0) === 0;
}

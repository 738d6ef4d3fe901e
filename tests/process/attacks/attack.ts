/** An attack on a service: one file for each, listed in `attacks.ts`. @module */
import type { FileConfig } from "../../support/server/process.ts";
import type { Place } from "../faults/place.ts";

/** An attack that is under way. */
export interface RunningAttack {
  /** Resolves when the attack has begun to act on others. */
  readonly underway: Promise<void>;
  /** Ends the attack. Resolves with its outcome for the attacker, in a few words. */
  stop(): Promise<string>;
}

/** An issuer whose key was stolen. */
export interface Issuer extends AsyncDisposable {
  /** Options of the service without guards, and with them. */
  readonly unguarded: FileConfig;
  readonly guarded: FileConfig;
  readonly stolenToken: string;
  /** Replaces the key, and sends the service a token of the new one. */
  rotate(port: number): Promise<void>;
}

/** How a service is attacked, and guarded. */
export interface Attack {
  /** Label of its row. */
  readonly name: string;
  /** Options that guard against it. The unguarded service has none of them. */
  readonly guards: FileConfig;
  /** Options of both services. */
  readonly config?: FileConfig;
  /** SQL after that of the place. */
  readonly sql?: string;
  /** File descriptors that the service may open beside those that it has; Linux only. Default: no limit. */
  readonly descriptors?: number;
  /** Starts the issuer of tokens, whose options differ for each run. Default: there is none. */
  readonly openIssuer?: () => Promise<Issuer>;
  readonly start: (place: Place, issuer: Issuer | null) => RunningAttack | Promise<RunningAttack>;
}

/** Runs clients that attack again and again until the attack ends. */
export function attackers(
  count: number,
  attackOnce: () => Promise<void>,
): { readonly stop: () => Promise<void> } {
  let isStopping = false;
  const run = async () => {
    while (!isStopping) await attackOnce();
  };
  const ended = Promise.all(Array.from({ length: count }, run));
  ended.catch(() => {});
  return {
    stop: async () => {
      isStopping = true;
      await ended;
    },
  };
}

/** Counts things by their names. */
export class Counter {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Names with their counts: `12 × 413 SVC130, 3 × no answer`. */
  text(): string {
    const entries = [...this.#counts].map(([name, count]) => `${count} × ${name}`);
    return entries.length === 0 ? "nothing" : entries.join(", ");
  }
}

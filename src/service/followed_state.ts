/** The state of a service that services in other threads follow, as data that a message can carry.
 * @module */
import type { Config } from "../config/options.ts";
import type { LoadedRevocations } from "./revocation_list.ts";
import type { Snapshot } from "./snapshot.ts";

/** The state in parts. */
export interface FollowedParts
  extends Pick<Snapshot, "config" | "roles" | "serverVersion" | "usesBlocks"> {
  /** Pieces of `schemaPieces`; a thread parses text faster than it copies objects. Null before the first load. */
  readonly schema: readonly string[] | null;
  /** Null before the first read. */
  readonly revocations: LoadedRevocations | null;
}

/** A configuration without its dialect, whose record has its own copy in each thread. */
export type SentConfig = Omit<Config, "dialect">;

/** The parts that changed, as a message carries them. Absent parts stay as they are. */
export interface StateChange {
  /** Counts the changes. A service applies each change as a whole, in this order. */
  readonly generation: number;
  readonly config?: SentConfig;
  readonly roles?: FollowedParts["roles"];
  readonly serverVersion?: string | null;
  readonly usesBlocks?: boolean;
  readonly schema?: FollowedParts["schema"];
  readonly revocations?: LoadedRevocations | null;
}

/** Tells followers what has changed. */
export class StatePublisher {
  readonly #current: () => FollowedParts;
  #sent: FollowedParts;
  #generation = 0;

  /** `current` returns the state, whose parts are replaced and never changed. */
  constructor(current: () => FollowedParts) {
    this.#current = current;
    this.#sent = current();
  }

  /** Returns what has changed since the last call; null if nothing has. */
  changes(): StateChange | null {
    const [sent, current] = [this.#sent, this.#current()];
    this.#sent = current;
    const parts = changedParts(sent, current);
    return Object.keys(parts).length === 0 ? null : { ...parts, generation: ++this.#generation };
  }

  /** Returns the whole state as of the last call of {@linkcode changes}, for a new follower. */
  all(): StateChange {
    const { config, ...others } = this.#sent;
    return {
      ...others,
      config: sentConfig(config),
      generation: this.#generation,
    };
  }
}

function changedParts(
  sent: FollowedParts,
  current: FollowedParts,
): Omit<StateChange, "generation"> {
  const differs = (part: keyof FollowedParts) => sent[part] !== current[part];
  return {
    ...(differs("config") ? { config: sentConfig(current.config) } : {}),
    ...(differs("roles") ? { roles: current.roles } : {}),
    ...(differs("serverVersion") ? { serverVersion: current.serverVersion } : {}),
    ...(differs("usesBlocks") ? { usesBlocks: current.usesBlocks } : {}),
    ...(differs("schema") ? { schema: current.schema } : {}),
    ...(differs("revocations") ? { revocations: current.revocations } : {}),
  };
}

function sentConfig({ dialect: _, ...others }: Config): SentConfig {
  return others;
}

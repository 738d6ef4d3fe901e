/** The state that a follower receives from the thread that it follows. @module */
import type { Config } from "../config/options.ts";
import type { LoadedRevocations } from "./revocation_list.ts";
import type { Snapshot } from "./snapshot.ts";

/** The state in parts, which are replaced and never changed. */
export interface FollowedParts
  extends Pick<Snapshot, "config" | "roles" | "serverVersion" | "usesBlocks"> {
  /** The schema cache as JSON texts, because a thread parses text faster than it copies objects.
   * Null before the first load. */
  readonly schema: readonly string[] | null;
  /** Null before the first read. */
  readonly revocations: LoadedRevocations | null;
}

/** A configuration without the dialect and the options of wings. Each thread has its own copy of these. */
export type SentConfig = Omit<Config, "dialect" | "wingOptions">;

/** The changed parts, as a message contains them. Absent parts are unchanged. */
export interface StateChange extends Partial<Omit<FollowedParts, "config">> {
  readonly config?: SentConfig;
}

/** Returns the parts of a state that differ from `before`; all parts if `before` is null. */
export function stateChange(before: FollowedParts | null, state: FollowedParts): StateChange {
  const differs = ([part, value]: [string, unknown]) =>
    value !== before?.[part as keyof FollowedParts];
  const changed: Partial<FollowedParts> = Object.fromEntries(
    Object.entries(state).filter(differs),
  );
  const { config, ...others } = changed;
  if (config === undefined) return others;
  const { dialect: _, wingOptions: __, ...sent } = config;
  return { ...others, config: sent };
}

/** Gives processes a separate cache folder. @module */
import { join } from "node:path";

/** Returns the environment in which the service caches in a folder, and Deno where it always does. */
export function cacheEnvironment(folder: string): Readonly<Record<string, string>> {
  const { HOME = "/", XDG_CACHE_HOME = join(HOME, ".cache"), DENO_DIR } = Deno.env.toObject();
  return { XDG_CACHE_HOME: folder, DENO_DIR: DENO_DIR ?? join(XDG_CACHE_HOME, "deno") };
}

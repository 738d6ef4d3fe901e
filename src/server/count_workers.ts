/** The number of threads that serve, from the configuration and the machine. @module */
import type { Config } from "../config/options.ts";
import type { Observation } from "../observe/observation.ts";

/** Resolves with the number. Reports if it is lower than the configured one. */
export async function countWorkers(
  config: Config,
  observe: (event: Observation) => void,
): Promise<number> {
  if (config.serverWorkers === 1) return 1;
  const [{ workerCount }, { thisMachine }] = await Promise.all([
    import("./workers/shares.ts"),
    import("./workers/this_machine.ts"),
  ]);
  const { workers, limit } = workerCount(config, thisMachine());
  if (limit !== null) observe({ kind: "workers-limited", workers, limit });
  return workers;
}

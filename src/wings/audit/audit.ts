/** The wing that inspects a database and its policies, by commands and by data for the console. @module */
import type { Watcher, Wing } from "../../api/wing.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { auditData, findingsOfState } from "./audit_data.ts";
import { DiagnosisLog } from "./diagnosis/diagnosis_log.ts";
import { initCommand } from "./init/run_init.ts";
import { accessCommand } from "./commands/access.ts";
import { checkCommand } from "./commands/check.ts";
import { contractCommand, diffCommand } from "./commands/contract.ts";
import { isolateCommand } from "./commands/isolate.ts";
import { testCommand } from "./commands/policy_tests.ts";
import { whyCommand } from "./commands/why.ts";

export const auditWing: Wing = {
  name: "audit",
  commands: [
    initCommand,
    checkCommand,
    accessCommand,
    testCommand,
    isolateCommand,
    whyCommand,
    contractCommand,
    diffCommand,
  ],
  adminData: auditData,
  watch: watchFindings,
};

/** Reports the number of findings of a service. */
function watchFindings(observe: (event: Observation) => void): Watcher {
  const log = new DiagnosisLog(observe);
  return {
    observe: (event) => log.take(event),
    start: (appState, options) =>
      log.start({
        diagnose: () => findingsOfState(appState, options),
        config: () => appState.snapshot.config,
      }),
    stop: () => log.stop(),
  };
}

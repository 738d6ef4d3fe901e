/** All faults by name. @module */
import { disturbBatches } from "./batches.ts";
import { chaos } from "./chaos.ts";
import { connectionShortage } from "./connection_shortage.ts";
import { fullDisk } from "./full_disk.ts";
import { idleConnections } from "./idle_connections.ts";
import { disturbLiveQueries } from "./live.ts";
import { manyClients } from "./many_clients.ts";
import { promoteStandby } from "./promotion.ts";
import { reloadUnderLoad } from "./reloads.ts";
import { disturbStandbys } from "./replicas.ts";
import type { Fault } from "./report.ts";
import { restartUnderLoad } from "./restart.ts";
import { upgradeRolling } from "./rolling.ts";
import { shutDownUnderLoad } from "./shutdown.ts";
import { slowReaders } from "./slow_reader.ts";
import { terminateConnections } from "./termination.ts";

/** Each puts up a database and a service of its own. */
export const faults: Readonly<Record<string, Fault>> = {
  "database restarts": restartUnderLoad,
  "terminated connections": terminateConnections,
  "batches": disturbBatches,
  "promoted standby": promoteStandby,
  "replicas": disturbStandbys,
  "full disk": fullDisk,
  "connection shortage": connectionShortage,
  "slow readers": slowReaders,
  "idle connections": idleConnections,
  "many clients": manyClients,
  "reloads": reloadUnderLoad,
  "chaos": chaos,
  "live queries": disturbLiveQueries,
  "shutdown": shutDownUnderLoad,
  "rolling upgrade": upgradeRolling,
};

/** Creates the parts of a worker: separate connections, caches, logs and a socket. @module */
import { openConfiguredDatabase } from "../../../state/config/config_files.ts";
import type { Config } from "../../../state/config/options.ts";
import { dialects } from "../../../base/dialect.ts";
import { openConsole, wings } from "../../wings.ts";
import type { AdminConsole } from "../../../api/wing.ts";
import { serviceHandler } from "../../../api/handler/handler.ts";
import { OneShotTimer } from "../../../base/lib/one_shot_timer.ts";
import { schedule } from "../../../base/lib/timers.ts";
import type { Observation } from "../../../base/observe/observation.ts";
import { createReporter, type LogSettings, type Report } from "../../../base/observe/reporter.ts";
import { FollowerState } from "../../../state/app_state/follower_state.ts";
import { serveApi } from "../api_server.ts";
import type { Listening } from "../listen.ts";
import { adminListenAddress } from "../../listen_address.ts";
import { openTracing } from "../tracing.ts";
import type { LeaderFunctions, WorkerTask } from "./calls.ts";
import { sharedConfig } from "./shares.ts";

/** The parts of a worker that does not listen yet. */
export interface WorkerParts {
  readonly appState: FollowerState;
  readonly log: WorkerLog;
  readonly observe: (event: Observation) => void;
  /** Null without a console. */
  readonly adminConsole: AdminConsole | null;
  readonly listen: () => Promise<Listening>;
}

/** Creates the parts of a worker. Opens no connection. */
export async function makeParts(
  task: WorkerTask,
  leader: Omit<LeaderFunctions, "refuse">,
): Promise<WorkerParts> {
  const { part, file } = task;
  const sent = { ...task.state.config!, dialect: dialects.get(task.dialect)! };
  const config = sharedConfig(sent, part);
  let appState: FollowerState | null = null;
  const log = workerLog(task, leader, () => appState?.snapshot.config ?? config);
  const adminConsole = openConsole(config, () => appState?.database.counts() ?? null);
  const observe = (event: Observation) => {
    log.observe(event);
    adminConsole?.observe(event);
  };
  appState = await FollowerState.create({
    database: await openConfiguredDatabase(config, file),
    dialect: task.dialect,
    followed: leader,
    shareOf: (whole) => sharedConfig(whole, part),
    now: Date.now,
    observe,
    onFatal: leader.endProcess,
    ...(await openTracing()),
    isCounted: adminListenAddress(config) !== null,
    isTimed: () => adminConsole?.isWatched ?? false,
    threads: part.workers,
  }, task.state);
  const made = appState;
  const listen = () => listenBy(made, { config, task });
  return { appState, log, observe, adminConsole, listen };
}

function listenBy(
  appState: FollowerState,
  { config, task: { port, isQuick, part: { number } } }: {
    readonly config: Config;
    readonly task: WorkerTask;
  },
): Promise<Listening> {
  return serveApi(appState, {
    config: { ...config, serverPort: port, serverReuseport: true },
    isQuick,
    handleApi: serviceHandler(appState, "shared", wings),
    observe: (event) => {
      // The leader reports `listening` for all workers. The first worker reports missing limits for all.
      const isOfAll = event.kind === "listening" ||
        (event.kind === "limits-unavailable" && number !== 1);
      if (!isOfAll) appState.observe(event);
    },
  });
}

/** The logs of a worker, whose lines the leader writes. */
interface WorkerLog {
  readonly observe: Report;
  /** Sends the collected lines to the leader at once. */
  readonly flush: () => void;
}

/** Milliseconds for which the first line waits, so that one message contains many lines. */
const batchMs = 10;

function workerLog(
  { call }: WorkerTask,
  { addLines }: Pick<LeaderFunctions, "addLines">,
  settings: () => LogSettings,
): WorkerLog {
  const [access, diagnostics]: [string[], string[]] = [[], []];
  const flush = () => {
    timer.clear();
    if (access.length === 0 && diagnostics.length === 0) return;
    addLines({
      access: access.splice(0).join("\n"),
      diagnostics: diagnostics.splice(0).join("\n"),
    });
  };
  const timer = new OneShotTimer(schedule, flush);
  const sink = (lines: string[]) => ({
    add(line: string) {
      lines.push(line);
      timer.start(batchMs);
    },
  });
  const observe = createReporter({
    settings,
    call,
    access: sink(access),
    diagnostics: sink(diagnostics),
  });
  return { observe, flush };
}

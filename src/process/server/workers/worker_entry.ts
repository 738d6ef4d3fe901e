/** The module of a thread that serves requests. @module */
import { metricsText } from "../admin.ts";
import { closeInTime, hasWork, untilResponded } from "../api_server.ts";
import type { Listening } from "../listen.ts";
import {
  type CallMessage,
  type LeaderFunctions,
  type RecordedSecond,
  ThreadCalls,
  type WorkerFunctions,
  type WorkerTask,
} from "./calls.ts";
import { makeParts, type WorkerParts } from "./worker_parts.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";
import type { StateChange } from "../../../state/app_state/state_change.ts";

/** The global scope of a worker. */
const scope = globalThis as unknown as { postMessage(message: CallMessage): void };

/** A thread that serves requests. */
class ServingThread implements WorkerFunctions {
  readonly calls = new ThreadCalls<WorkerFunctions, LeaderFunctions>(
    (message) => scope.postMessage(message),
    this,
  );
  /** Null before the task arrives. */
  #parts: Promise<WorkerParts> | null = null;
  #made: WorkerParts | null = null;
  #api: Promise<Listening> | null = null;
  #isListening = false;

  async serve(task: WorkerTask): Promise<string> {
    this.#parts = makeParts(task, {
      isReady: () => this.calls.ask("isReady"),
      recover: () => this.calls.send("recover"),
      missName: () => this.calls.send("missName"),
      addLines: (lines) => this.calls.send("addLines", lines),
      endProcess: () => this.#endProcess(),
    });
    this.#made = await this.#parts;
    this.#api = this.#made.listen();
    const { address } = await this.#api;
    this.#isListening = true;
    return address;
  }

  async apply(change: StateChange): Promise<void> {
    await (await this.#parts)?.appState.apply(change);
  }

  setRetry(seconds: number): void {
    this.#made?.appState.setRetry(seconds);
  }

  metrics(): string {
    return this.#made === null ? "" : metricsText(this.#made.appState);
  }

  recorded(): RecordedSecond | null {
    const { appState, adminConsole = null } = this.#made ?? {};
    if (appState === undefined || adminConsole === null) return null;
    return { requests: adminConsole.take(), pool: appState.database.counts() };
  }

  async closeConnections(): Promise<void> {
    (await this.#api)?.closeConnections();
  }

  async hold(): Promise<number> {
    return await (await this.#api)?.hold() ?? 0;
  }

  async closeSocket(): Promise<void> {
    await (await this.#api)?.closeSocket();
  }

  async stop(): Promise<void> {
    const [parts, api] = await Promise.all([this.#parts, this.#api]);
    if (parts === null) return;
    const { appState, log } = parts;
    appState.endStreams();
    await untilResponded(Promise.resolve(api?.shutdown()), () => hasWork(appState.database));
    await closeInTime(appState);
    log.flush();
  }

  /** Ends the process because of an uncaught error. */
  fail(error: unknown): void {
    if (!this.#isListening) return this.calls.send("refuse", errorMessage(error));
    this.#made?.observe({ kind: "unexpected-error", error });
    this.#endProcess();
  }

  #endProcess(): void {
    this.#made?.log.flush();
    this.calls.send("endProcess");
  }
}

const thread = new ServingThread();

addEventListener("message", (event) => {
  thread.calls.receive((event as MessageEvent<CallMessage>).data)
    .catch((error) => thread.fail(error));
});
addEventListener("error", (event) => {
  event.preventDefault();
  thread.fail(event.error);
});
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  thread.fail(event.reason);
});

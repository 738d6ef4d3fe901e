/** The module of a thread that serves requests. @module */
import type { OwnerMessage, WorkerMessage } from "./messages.ts";
import { ServingThread } from "./worker.ts";

/** The global scope of a worker. */
const scope = globalThis as unknown as {
  postMessage(message: WorkerMessage): void;
  close(): void;
};

const thread = new ServingThread((message) => scope.postMessage(message), () => scope.close());

addEventListener("message", (event) => {
  thread.receive((event as MessageEvent<OwnerMessage>).data)
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
scope.postMessage({ kind: "loaded" });

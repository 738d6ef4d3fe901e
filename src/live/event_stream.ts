/** Streams of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * @module */
import type { Subscriber } from "./group.ts";
import type { MessageBatch } from "./messages.ts";

/** A client that has more of them to read is too slow. */
const maxUnsentBytes = 2 ** 20;
/** Proxies close connections that are silent for longer. */
const commentMs = 15_000;
const comment = { events: new TextEncoder().encode(":\n\n") };

/** A stream of batches. It ends at the end of a batch, so that its reader can resume. */
export class EventStream implements Subscriber {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #commentAt = 0;
  #isOpen = true;

  /** It ends at `endsAt`, in milliseconds of the epoch. Calls `onEnd` once, in whichever way it ends. */
  constructor(readonly endsAt: number, readonly onEnd: () => void) {
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#leave(),
    }, new ByteLengthQueuingStrategy({ highWaterMark: maxUnsentBytes }));
  }

  /** Sends a batch, unless the client is too slow: then the stream ends before it. */
  receive(batch: Pick<MessageBatch, "events">): void {
    if (!this.#isOpen) return;
    if (this.#controller.desiredSize! <= 0) this.end();
    else this.#controller.enqueue(batch.events);
  }

  /** The stream stays silent until a later run succeeds. */
  fail(): void {}

  check(time: number): void {
    if (time >= this.endsAt) return this.end();
    if (time < this.#commentAt) return;
    this.#commentAt = time + commentMs;
    this.receive(comment);
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#leave();
    this.#controller.close();
  }

  #leave(): void {
    this.#isOpen = false;
    this.onEnd();
  }
}

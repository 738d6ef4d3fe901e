/** Streams of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * @module */
import type { Subscriber } from "./group.ts";
import type { MessageBatch } from "./messages.ts";

/** A client that has more of them to read is too slow. */
const maxUnsentBytes = 2 ** 20;
/** Proxies close connections that are silent for longer. */
const commentMs = 15_000;
const comment = new TextEncoder().encode(":\n\n");

interface EventStreamOptions {
  /** When it begins and ends at the latest, in milliseconds of the epoch. */
  readonly time: number;
  readonly endsAt: number;
  /** Called once, in whichever way the stream ends. */
  readonly onEnd: () => void;
}

/** A stream of batches. It ends at the end of a batch, so that its reader can resume. */
export class EventStream implements Subscriber {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #commentAt: number;
  #isOpen = true;

  constructor(readonly options: EventStreamOptions) {
    this.#commentAt = options.time + commentMs;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#leave(),
    }, new ByteLengthQueuingStrategy({ highWaterMark: maxUnsentBytes }));
  }

  /** Sends events, unless the client is too slow: then the stream ends before them. */
  send(events: Uint8Array): void {
    if (!this.#isOpen) return;
    if (this.#controller.desiredSize! <= 0) this.end();
    else this.#controller.enqueue(events);
  }

  receive(batch: MessageBatch): void {
    this.send(batch.events);
  }

  /** The stream stays silent until a later run succeeds. */
  fail(): void {}

  check(time: number): void {
    if (time >= this.options.endsAt) return this.end();
    if (time < this.#commentAt) return;
    this.#commentAt = time + commentMs;
    this.send(comment);
  }

  end(): void {
    if (!this.#isOpen) return;
    this.#leave();
    this.#controller.close();
  }

  #leave(): void {
    this.#isOpen = false;
    this.options.onEnd();
  }
}

/** Streams of batches of messages. @module */
import type { BodyStream } from "../../database/connection/body_stream.ts";
import { unreadStream } from "../../api/handler/unread.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { Subscriber } from "./group.ts";
import type { MessageBatch } from "./messages.ts";

/** A client that has more bytes to read is too slow. */
const maxUnsentBytes = 2 ** 20;
/** A client that reads nothing of what waits for it for this time has left. */
const maxStallMs = 30_000;
/** Proxies close connections that are silent for longer. */
const commentMs = 15_000;
const comment = { events: new TextEncoder().encode(":\n\n") };

/** A stream of batches. It ends at the end of a batch, so that its reader can resume, unless that reads nothing. */
export class EventStream implements Subscriber {
  readonly body: BodyStream;
  #commentAt = 0;
  #isOpen = true;
  #cancelTimer = () => {};

  constructor(
    private readonly options: {
      readonly spool: BodySpool;
      /** Milliseconds of the epoch. */
      readonly endsAt: number;
      readonly schedule: Schedule;
      /** Called when no more is sent. */
      readonly onEnd: () => void;
    },
  ) {
    this.body = unreadStream(options.spool);
    this.#watch();
    void this.body.ended.then(() => {
      this.#cancelTimer();
      options.onEnd();
    });
  }

  /** Sends a batch, unless the client is too slow: then the stream ends before it. */
  receive({ events }: Pick<MessageBatch, "events">): void {
    if (!this.#isOpen) return;
    if (this.body.unreadBytes > maxUnsentBytes) this.end();
    else this.body.addAll(events);
  }

  /** The stream stays silent until a later run succeeds. */
  fail(): void {}

  check(time: number): void {
    if (time >= this.options.endsAt) return this.end();
    if (time < this.#commentAt) return;
    this.#commentAt = time + commentMs;
    this.receive(comment);
  }

  end(): void {
    this.#isOpen = false;
    this.body.end();
    this.options.onEnd();
  }

  /** Ends the stream, also in the midst of a batch, once its client has read nothing for too long. */
  #watch(): void {
    this.#cancelTimer = this.options.schedule(() => {
      if (this.body.idleFor() >= maxStallMs) this.body.cancel();
      else this.#watch();
    }, maxStallMs);
  }
}

/** Streams of batches of messages. @module */
import type { BodyStream } from "../../database/connection/body_stream.ts";
import { unreadStream } from "../../api/handler/unread.ts";
import type { BodySpool } from "../../base/lib/body_spool.ts";
import type { Schedule } from "../../base/lib/timers.ts";
import type { Subscriber } from "./group.ts";
import type { MessageBatch } from "./messages.ts";

/** Maximum bytes that a client has not read. A slower client is disconnected. */
const maxUnsentBytes = 2 ** 20;
/** Milliseconds without a read after which a client with waiting bytes is disconnected. */
const maxStallMs = 30_000;
/** Milliseconds between comments, which are sent because proxies close silent connections. */
const commentMs = 15_000;
const comment = { events: new TextEncoder().encode(":\n\n") };

/** A stream of batches. It ends after a complete batch, so that its reader can resume. If the reader
 * has stopped reading, it may end within a batch. */
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
      /** Called when nothing more is sent. */
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

  /** Sends a batch. If the client is too slow, ends the stream instead. */
  receive({ events }: Pick<MessageBatch, "events">): void {
    if (!this.#isOpen) return;
    if (this.body.unreadBytes > maxUnsentBytes) this.end();
    else this.body.addAll(events);
  }

  /** Ignores the failure of a run. The stream stays silent until a later run succeeds. */
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

  /** Ends the stream, even within a batch, if its client has read nothing for too long. */
  #watch(): void {
    this.#cancelTimer = this.options.schedule(() => {
      if (this.body.idleFor() >= maxStallMs) this.body.cancel();
      else this.#watch();
    }, maxStallMs);
  }
}

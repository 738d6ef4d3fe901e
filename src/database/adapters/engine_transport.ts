/** The byte stream to the embedded engine. @module */
import { concat } from "../protocol/decoder.ts";
import type { Transport, TransportEvents } from "../transport.ts";

/** The member of `PGlite` that the transport uses. */
interface ByteEngine {
  execProtocolRaw(message: Uint8Array): Promise<Uint8Array>;
}

export class EngineTransport implements Transport {
  #events: TransportEvents | null = null;
  #closed = false;

  constructor(private readonly engine: ByteEngine) {}

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  write(chunks: readonly Uint8Array[]): void {
    this.#run(
      chunks.length === 1
        ? chunks[0]!
        : concat(chunks, chunks.reduce((sum, chunk) => sum + chunk.length, 0)),
    );
  }

  /** Does nothing, because a reply is in memory as a whole. */
  pause(): void {}

  resume(): void {}

  end(): void {
    this.#closed = true;
  }

  destroy(): void {
    this.#close("the connection to the embedded database was destroyed");
  }

  async #run(message: Uint8Array): Promise<void> {
    try {
      const reply = await this.engine.execProtocolRaw(message);
      if (!this.#closed) this.#events?.data(reply);
    } catch (error) {
      this.#close(error instanceof Error ? error.message : "the embedded database failed");
    }
  }

  #close(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#events?.closed(reason);
  }
}

/** A client that sends bytes at a chosen pace, as attackers do. @module */
import { delay } from "../timing/delay.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A connection of bytes. */
export class RawClient implements Disposable {
  readonly #connection: Deno.Conn;
  #isClosed = false;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  static async connect(port: number): Promise<RawClient> {
    return new RawClient(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async send(text: string): Promise<void> {
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }

  /** Sends a text byte by byte. Resolves with false if the server closes the connection before its end. */
  async trickle(text: string, pauseMs: number): Promise<boolean> {
    for (const character of text) {
      try {
        await this.send(character);
      } catch {
        return false;
      }
      await delay(pauseMs);
    }
    return true;
  }

  /** Reads until the server closes the connection, or until a text ends with `end`. */
  async read(end: string | null = null): Promise<string> {
    const buffer = new Uint8Array(16 * 1024);
    let text = "";
    for (;;) {
      const bytes = await this.#connection.read(buffer).catch(() => null);
      if (bytes === null) return text;
      text += decoder.decode(buffer.subarray(0, bytes), { stream: true });
      if (end !== null && text.endsWith(end)) return text;
    }
  }

  /** Closes the connection. */
  close(): void {
    if (!this.#isClosed) this.#connection.close();
    this.#isClosed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Measures the time of one large request or answer. Counts the bytes of the answer, but does not
 * store them. @module */

/** A request whose head and body are written as they are. */
export interface RawRequest {
  /** `POST /bulk` */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parts of the body, one after the other. Default: none. */
  readonly body?: readonly Uint8Array[];
}

/** Figures of the answer. Times are milliseconds since the request was sent. */
export interface Exchange {
  readonly status: number;
  /** Time of the first byte of the body, or of the end if the body is empty. */
  readonly firstByte: number;
  readonly total: number;
  /** Bytes of the body as it was sent, including the framing of chunks. */
  readonly bytes: number;
}

/** Sends a request over a new connection and reads the answer to its end. */
export async function exchange(origin: string, request: RawRequest): Promise<Exchange> {
  const { hostname, port } = new URL(origin);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const began = performance.now();
  const sent = send(connection, request, hostname);
  const answer = new AnswerReader(began);
  const buffer = new Uint8Array(256 * 1024);
  for (let count; (count = await connection.read(buffer)) !== null;) {
    answer.push(buffer.subarray(0, count));
  }
  await sent;
  return answer.end();
}

async function send(
  connection: Deno.Conn,
  { line, headers = {}, body = [] }: RawRequest,
  host: string,
): Promise<void> {
  const bytes = body.reduce((sum, { length }) => sum + length, 0);
  const length = bytes === 0 ? {} : { "Content-Length": String(bytes) };
  const all = { Host: host, Connection: "close", ...length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = new TextEncoder().encode(`${line} HTTP/1.1\r\n${lines.join("")}\r\n`);
  for (const part of [head, ...body]) {
    for (let at = 0; at < part.length;) at += await connection.write(part.subarray(at));
  }
}

/** Counts the bytes of an answer, whose head comes before its body. */
class AnswerReader {
  readonly #began: number;
  #head = "";
  #isInBody = false;
  #bytes = 0;
  #firstByte: number | null = null;

  /** `began` is the time at which the request was sent. */
  constructor(began: number) {
    this.#began = began;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#isInBody ? chunk.length : this.#pushHead(chunk);
    if (bytes === 0) return;
    this.#firstByte ??= performance.now() - this.#began;
    this.#bytes += bytes;
  }

  /** Returns the figures. Throws an `Error` if the answer is incomplete. */
  end(): Exchange {
    const total = performance.now() - this.#began;
    const promised = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#head)?.[1];
    if (!this.#isInBody) throw new Error(`no answer: ${this.#head}`);
    if (promised !== undefined && Number(promised) !== this.#bytes) {
      throw new Error(`${this.#bytes} of ${promised} bytes came`);
    }
    const status = Number(this.#head.split(" ")[1]);
    return { status, firstByte: this.#firstByte ?? total, total, bytes: this.#bytes };
  }

  /** Reads a chunk until the head is complete. Returns the number of its bytes after the head. */
  #pushHead(chunk: Uint8Array): number {
    this.#head += String.fromCharCode(...chunk.subarray(0, longestHead));
    const end = this.#head.indexOf("\r\n\r\n");
    if (end < 0) return 0;
    this.#isInBody = true;
    const extra = this.#head.length - end - 4 + Math.max(0, chunk.length - longestHead);
    this.#head = this.#head.slice(0, end + 2);
    return extra;
  }
}

/** Maximum bytes of a head. */
const longestHead = 16 * 1024;

/** A keep-alive connection to an HTTP server, byte by byte, for tests that must know whether an
 * answer came whole, came in part or did not come at all. @module */

/** A whole answer. */
export interface Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The connection ended before the answer did. */
export class CutError extends Error {
  /** `received` counts the bytes of the answer that came. */
  constructor(readonly received: number, cause: string) {
    super(`${received} bytes of an answer, then ${cause}`);
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const headEnd = "\r\n\r\n";

/** Writes a request down; a body is sent as JSON. */
export function requestBytes(
  line: string,
  { headers = {}, body }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  } = {},
): Uint8Array {
  const text = body === undefined ? "" : JSON.stringify(body);
  const described: Readonly<Record<string, string>> = body === undefined
    ? {}
    : { "Content-Type": "application/json", "Content-Length": String(encoder.encode(text).length) };
  const lines = Object.entries({ Host: "localhost", ...described, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return encoder.encode(`${line} HTTP/1.1\r\n${lines.join("")}\r\n${text}`);
}

/** One connection; one request at a time. */
export class HttpConnection implements Disposable {
  readonly #conn: Deno.Conn;
  readonly #buffer = new Uint8Array(16 * 1024);
  /** Bytes of the answer that is being read, one character each. */
  #text = "";
  #open = true;

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  /**
   * Connects to an address, to a port of 127.0.0.1, or to the path of a Unix socket. Rejects when
   * nobody listens.
   */
  static async connect(
    place: number | string | { readonly hostname: string; readonly port: number },
  ): Promise<HttpConnection> {
    if (typeof place === "string") {
      return new HttpConnection(await Deno.connect({ transport: "unix", path: place }));
    }
    const address = typeof place === "number" ? { hostname: "127.0.0.1", port: place } : place;
    return new HttpConnection(await Deno.connect({ ...address }));
  }

  /** False after the server's `Connection: close`, or an error. */
  get open(): boolean {
    return this.#open;
  }

  /** Sends a request and reads its answer. Rejects with a {@linkcode CutError}. */
  async exchange(request: Uint8Array, method: string): Promise<Answer> {
    this.#text = "";
    try {
      await this.#write(request);
    } catch (error) {
      return this.#cut(error instanceof Error ? error.message : "an error");
    }
    const answer = await this.#read(method);
    if (answer.headers.get("connection")?.toLowerCase() === "close") this.close();
    return answer;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#conn.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }

  async #read(method: string): Promise<Answer> {
    while (!this.#text.includes(headEnd)) await this.#more();
    const split = this.#text.indexOf(headEnd);
    const [first = "", ...lines] = this.#text.slice(0, split).split("\r\n");
    const status = Number(first.split(" ")[1]);
    const headers = new Map(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const start = split + headEnd.length;
    const bodiless = method === "HEAD" || status === 204 || status === 304;
    return { status, headers, body: bodiless ? "" : await this.#body(headers, start) };
  }

  async #body(headers: ReadonlyMap<string, string>, start: number): Promise<string> {
    if (headers.get("transfer-encoding") === "chunked") return await this.#chunks(start);
    const length = Number(headers.get("content-length") ?? NaN);
    if (Number.isNaN(length)) return this.#cut("no length");
    while (this.#text.length < start + length) await this.#more();
    return readUtf8(this.#text.slice(start, start + length));
  }

  async #chunks(start: number): Promise<string> {
    const chunks: string[] = [];
    for (let at = start;;) {
      while (this.#text.indexOf("\r\n", at) < 0) await this.#more();
      const lineEnd = this.#text.indexOf("\r\n", at);
      const length = parseInt(this.#text.slice(at, lineEnd), 16);
      const from = lineEnd + 2;
      while (this.#text.length < from + length + 2) await this.#more();
      if (length === 0) return readUtf8(chunks.join(""));
      chunks.push(this.#text.slice(from, from + length));
      at = from + length + 2;
    }
  }

  async #more(): Promise<void> {
    const read = await this.#conn.read(this.#buffer).catch((error) => this.#cut(String(error)));
    if (read === null) return this.#cut("the end");
    this.#text += latin1(this.#buffer.subarray(0, read));
  }

  #cut(cause: string): never {
    this.close();
    throw new CutError(this.#text.length, cause);
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}

function readUtf8(text: string): string {
  return decoder.decode(Uint8Array.from(text, (character) => character.charCodeAt(0)));
}

/** The classes for `Request` and `Response` in Node's server. @module */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import { FastResponse, NodeRequest } from "srvx/node";

/** A body with at most this `Content-Length` is read without a stream. */
const maxCollectedBytes = 64 * 1024;

/** A request that reads a short body without a web stream, which would take more time than the rest
 * of a write request. */
export class NodeServerRequest extends NodeRequest {
  readonly #incoming: IncomingMessage;
  #isCollected = false;

  constructor(context: ConstructorParameters<typeof NodeRequest>[0]) {
    super(context);
    this.#incoming = context.req as IncomingMessage;
  }

  /** The target as received; the base class would normalise it. */
  override get url(): string {
    const { url = "/", headers } = this.#incoming;
    return url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url;
  }

  override get bodyUsed(): boolean {
    return this.#isCollected || super.bodyUsed;
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    const length = Number(this.#incoming.headers["content-length"] ?? NaN);
    if (!(length <= maxCollectedBytes) || this.bodyUsed) return super.arrayBuffer();
    this.#isCollected = true;
    return collect(this.#incoming);
  }
}

/** A response that is sent with the standard reason phrase of its status, unless it has another. */
export class NodeServerResponse extends FastResponse {
  override get statusText(): string {
    return super.statusText || (STATUS_CODES[this.status] ?? "");
  }
}

/** Resolves with the body. Rejects if the client closes the connection before its end. */
function collect(incoming: IncomingMessage): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    if (incoming.destroyed) return reject(new Error("the client has closed the connection"));
    const chunks: Uint8Array[] = [];
    incoming.on("data", (chunk: Uint8Array) => void chunks.push(chunk));
    incoming.once("end", () => resolve(joined(chunks)));
    incoming.once("error", reject);
    incoming.once("close", () => reject(new Error("the body ended early")));
  });
}

function joined(chunks: readonly Uint8Array[]): ArrayBuffer {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes.buffer;
}

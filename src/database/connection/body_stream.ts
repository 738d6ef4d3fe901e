/**
 * Pieces of a body on their way from a connection to a reader who may be slower.
 *
 * @module
 */

/** Bytes that may wait before the connection is to pause. */
const waitingBytes = 256 * 1024;

/** Whom a stream tells of its reader. */
export interface BodyStreamOptions {
  /** More waits than should. */
  readonly onFull: () => void;
  /** The reader has caught up. */
  readonly onRoom: () => void;
  readonly onCancelled: () => void;
  /**
   * Gives a piece's memory back as soon as the reader asks for the next one, without waiting for the
   * garbage collector. Only for readers that keep no piece.
   */
  readonly releases: boolean;
}

/** A stream that hands a piece out when it is asked for. */
export class BodyStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #options: BodyStreamOptions;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #pieces: Uint8Array[] = [];
  #waiting = 0;
  #ended = false;
  /** What the reader was given last. */
  #given: Uint8Array | null = null;
  /** Ends the reader's wait for the next piece. */
  #supply: (() => void) | null = null;

  constructor(options: BodyStreamOptions) {
    this.#options = options;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#cancelled(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Adds a piece, which belongs to the stream from now on. */
  add(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#waiting += piece.length;
    this.#deliver();
    if (this.#waiting >= waitingBytes) this.#options.onFull();
  }

  /** Nothing is to come any more. */
  end(): void {
    this.#ended = true;
    if (this.#pieces.length === 0) this.#close();
  }

  /** Breaks the stream. */
  fail(error: unknown): void {
    this.#pieces.length = 0;
    this.#controller.error(error);
    this.#supplied();
  }

  #pull(): Promise<void> | void {
    this.#release();
    if (this.#pieces.length > 0) return this.#give();
    return new Promise((resolve) => this.#supply = resolve);
  }

  /** Gives a reader who waits what has come. */
  #deliver(): void {
    if (this.#supply === null) return;
    this.#give();
    this.#supplied();
  }

  #give(): void {
    const piece = this.#pieces.shift()!;
    this.#waiting -= piece.length;
    this.#given = piece;
    this.#controller.enqueue(piece);
    if (this.#ended && this.#pieces.length === 0) this.#close();
    else if (this.#waiting < waitingBytes) this.#options.onRoom();
  }

  #close(): void {
    this.#controller.close();
    this.#supplied();
  }

  #cancelled(): void {
    this.#pieces.length = 0;
    this.#options.onCancelled();
    this.#supplied();
  }

  #supplied(): void {
    const supply = this.#supply;
    this.#supply = null;
    supply?.();
  }

  #release(): void {
    const given = this.#given;
    this.#given = null;
    if (given === null || !this.#options.releases) return;
    const { buffer } = given;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === given.byteLength) buffer.transfer(0);
  }
}

/**
 * How bytes reach PostgreSQL and come back: a socket, or the engine in the process.
 *
 * @module
 */

/** What a transport tells. */
export interface TransportEvents {
  /** The chunk is valid during the call only. */
  data(chunk: Uint8Array): void;
  /** The way is closed for good; `reason` is for people. Told once. */
  closed(reason: string): void;
}

/** An authenticated connection that waits for a command. */
export interface Transport {
  /** Starts telling; called once, before anything else. */
  listen(events: TransportEvents): void;
  /** Sends the chunks in one go. They stay unchanged until the answer has come. */
  write(chunks: readonly Uint8Array[]): void;
  /** Stops and goes on with telling data. */
  pause(): void;
  resume(): void;
  /** Asks the server, past the connection, to cancel what runs on it. Errors are swallowed. */
  cancel(): void;
  /** Says good-bye and closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

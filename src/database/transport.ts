/** The byte stream to PostgreSQL and back: a socket, or the embedded engine. @module */

export interface TransportEvents {
  /** Receives bytes. The chunk is valid during the call only. */
  data(chunk: Uint8Array): void;
  /** Called once, when the transport is closed; `reason` is for the log. */
  closed(reason: string): void;
}

export interface Transport {
  /** Starts to emit events; called before anything else. A later call replaces the receiver. */
  listen(events: TransportEvents): void;
  /** Sends chunks in one write. The caller leaves them unchanged until the reply has arrived. */
  write(chunks: readonly Uint8Array[]): void;
  /** Pauses the `data` events; `resume` continues them. */
  pause(): void;
  resume(): void;
  /** Sends a cancel request over a separate connection. Errors are ignored. Absent if the server
   * does not support it. */
  cancel?(): void;
  /** Values that the server reported at the start of the connection. Absent for the embedded engine. */
  readonly parameters?: ReadonlyMap<string, string>;
  /** Sends Terminate and closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

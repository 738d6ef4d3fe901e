/** A TCP proxy that counts what passes. @module */
import { startTcpProxy } from "./tcp_proxy.ts";

/** Chunks of data as they were read from either side. */
export interface PassedChunks {
  readonly toServer: number;
  readonly fromServer: number;
}

/** A proxy on a free local port. */
export interface CountingProxy extends AsyncDisposable {
  readonly port: number;
  /** Chunks that passed since the last call. */
  take(): PassedChunks;
  /** Bytes that came from the server since the last call. */
  takeBytes(): number;
}

/** Starts a proxy to a local port. */
export function startCountingProxy(serverPort: number): CountingProxy {
  let counts = { toServer: 0, fromServer: 0 };
  let bytes = 0;
  const proxy = startTcpProxy(serverPort, () => ({
    toServer: (chunk) => {
      counts.toServer++;
      return chunk;
    },
    fromServer: (chunk) => {
      counts.fromServer++;
      bytes += chunk.length;
      return chunk;
    },
  }));
  return {
    ...proxy,
    take: () => {
      const taken = counts;
      counts = { toServer: 0, fromServer: 0 };
      return taken;
    },
    takeBytes: () => {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
  };
}

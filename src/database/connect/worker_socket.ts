/**
 * Adds back-pressure to the sockets of Cloudflare's runtime, which `npm:pg` adapts to Node's interface.
 *
 * @module
 */

/** A socket of `pg-cloudflare`, which reads in a loop and emits each chunk as `data`. */
interface LoopedSocket {
  _cfReader?: { read(): Promise<unknown> } | null;
  pause?(): void;
  resume?(): void;
}

/**
 * Adds `pause` and `resume` unless the socket has them. While it is paused, the loop's next read waits;
 * the read in progress may still emit a chunk.
 */
export function pausable<Socket extends object>(socket: Socket): Socket {
  const looped: LoopedSocket = socket;
  const reader = looped._cfReader;
  if (looped.pause !== undefined || !reader) return socket;
  const read = reader.read.bind(reader);
  let paused: Promise<void> | null = null;
  let open = () => {};
  reader.read = async () => {
    await paused;
    return await read();
  };
  looped.pause = () => void (paused ??= new Promise((resolve) => open = resolve));
  looped.resume = () => {
    paused = null;
    open();
  };
  return socket;
}

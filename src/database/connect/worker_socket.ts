/**
 * What the sockets of Cloudflare's runtime lack when `npm:pg` dresses them up as Node's.
 *
 * @module
 */

/** The reading end that `pg-cloudflare` reads in a loop, and tells each chunk as `data`. */
interface LoopedSocket {
  _cfReader?: { read(): Promise<unknown> } | null;
  pause?(): void;
  resume?(): void;
}

/**
 * Gives the socket `pause` and `resume` unless it has them: while it is paused, the loop's next read
 * waits. The one that is under way may still tell a chunk.
 */
export function pausable<Socket extends object>(socket: Socket): Socket {
  const looped: LoopedSocket = socket;
  const reader = looped._cfReader;
  if (looped.pause !== undefined || !reader) return socket;
  const read = reader.read.bind(reader);
  let gate: Promise<void> | null = null;
  let open = () => {};
  reader.read = async () => {
    await gate;
    return await read();
  };
  looped.pause = () => void (gate ??= new Promise((resolve) => open = resolve));
  looped.resume = () => {
    gate = null;
    open();
  };
  return socket;
}

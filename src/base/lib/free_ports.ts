/** Finds free ports for the API and the admin server. The admin server has the port after the API's
 * port. @module */
import { createServer } from "node:net";

/** Port of the API unless it is in use. */
export const usualPort = 3000;

/** First and last port that quick mode and `svc init` try for the API. */
const [firstPort, lastPort] = [usualPort, 3020];

/** Returns whether a server can listen on a port. */
export type IsFreePort = (port: number) => Promise<boolean>;

/** Returns the first port of the API that is free together with the next one. Rejects if no port is
 * free. */
export async function findPort(isFree: IsFreePort): Promise<number> {
  for (let port = firstPort; port <= lastPort; port++) {
    if (await isFree(port) && await isFree(port + 1)) return port;
  }
  throw new Error(`ports ${firstPort} to ${lastPort} are in use: give --port`);
}

/** Number of ports that {@linkcode findNextPort} tries. */
const nextAttempts = 20;

/** Returns the first free port after the API's port, for the admin server; the next port if none is free. */
export async function findNextPort(port: number, isFree: IsFreePort): Promise<number> {
  if (port === 0) return 0;
  const last = Math.min(port + nextAttempts, 65_535);
  for (let next = port + 1; next <= last; next++) if (await isFree(next)) return next;
  return port + 1;
}

/** Returns whether this machine can listen on a port of the loopback address. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}

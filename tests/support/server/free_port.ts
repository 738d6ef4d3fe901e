/** Ports for servers that tests start as separate processes. @module */

/** Below the ports that Linux gives to outgoing connections, one of which might take it meanwhile. */
const lowest = 10_000;
const ports = 22_000;

/** Gives a TCP port that nobody listens on. */
export function freePort(): number {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * ports);
    if (isFree(port)) return port;
  }
}

function isFree(port: number): boolean {
  try {
    // On all addresses, as a server may listen on any of them.
    Deno.listen({ hostname: "0.0.0.0", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

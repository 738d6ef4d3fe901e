/** Lists of response headers. @module */
import type { HeaderList } from "../lib/header_list.ts";
import type { Reply } from "../response/reply.ts";

/** Adds headers behind those of a reply. */
export function withHeaders(reply: Reply, added: HeaderList): Reply {
  return added.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...added] };
}

export function hasHeader(expected: string, headers: HeaderList): boolean {
  for (const [name] of headers) {
    if (name.length !== expected.length) continue;
    if (name === expected || name.toLowerCase() === expected.toLowerCase()) return true;
  }
  return false;
}

export function withoutHeader(removed: string, headers: HeaderList): HeaderList {
  return headers.filter(([name]) => name.toLowerCase() !== removed.toLowerCase());
}

/**
 * Returns headers for a `Response`: an object, which runtimes process faster, or a list if a header
 * occurs more than once. `omitsLength` leaves `Content-Length` to the server.
 */
export function headersInit(headers: HeaderList, omitsLength = false): HeadersInit {
  const init: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (omitsLength && name === "Content-Length") continue;
    // True also for names on the prototype of all objects, which need the list as well.
    if (name in init) return headers.map(([...header]) => header);
    init[name] = value;
  }
  return init;
}

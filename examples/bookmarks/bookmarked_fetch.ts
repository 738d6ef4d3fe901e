/**
 * A client that sees its own writes while standbys execute its reads: it keeps the bookmarks of answers, and
 * sends them with its next requests.
 *
 *     deno run -A examples/bookmarks/bookmarked_fetch.ts http://localhost:3000 "$TOKEN"
 *
 * @module
 */

/** Sends a request. */
export type Send = (request: Request) => Promise<Response>;

/** Returns a function that sends requests of one client, also several at the same time. */
export function bookmarkedFetch(send: Send = fetch): Send {
  // Answers to requests that were on their way at the same time have one bookmark each.
  const kept = new Set<string>();
  return async (request) => {
    const sent = [...kept];
    if (sent.length > 0) request.headers.set("Svc-Bookmark", sent.join(", "));
    const response = await send(request);
    const bookmark = response.headers.get("Svc-Bookmark");
    if (bookmark !== null) {
      // It covers those that the request had.
      for (const earlier of sent) kept.delete(earlier);
      kept.add(bookmark);
    }
    return response;
  };
}

if (import.meta.main) {
  const [url = "http://localhost:3000", token = ""] = Deno.args;
  const client = bookmarkedFetch();
  const headers = { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ task: "read my own write" });
  const written = await client(new Request(`${url}/todos`, { method: "POST", headers, body }));
  console.log(written.status, written.headers.get("Svc-Bookmark"));
  const read = await client(new Request(`${url}/todos?order=id.desc&limit=1`, { headers }));
  console.log(await read.text(), read.headers.get("Svc-Bookmark"));
}

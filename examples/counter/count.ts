/**
 * Increments a counter. PostgreSQL adds to the value that it finds, so increments of many clients all count.
 *
 * @module
 */

/** Sends requests, as `fetch` does. */
export type Send = (request: Request) => Promise<Response>;

/** Adds to a counter, and returns its value. */
export async function increment(
  origin: string,
  name: string,
  by: number,
  send: Send = fetch,
): Promise<number> {
  const filter = new URLSearchParams({ name: `eq.${name}`, select: "count" });
  const response = await send(
    new Request(`${origin}/counters?${filter}`, {
      method: "PATCH",
      headers: {
        "Accept": "application/vnd.pgrst.object+json",
        "Content-Type": "application/vnd.svc.patch+json",
        "Prefer": "return=representation",
      },
      body: JSON.stringify([{ op: "incr", path: "/count", value: by }]),
    }),
  );
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer.count;
}

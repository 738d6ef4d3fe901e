/** A client that does nothing unusual, while others attack. Its latencies show what the attack does
 * to it. @module */
import { delay } from "../../support/timing/delay.ts";
import { HttpConnection, requestBytes } from "../../support/clients/http_connection.ts";

/** What a client saw in a period. */
export interface Latencies {
  /** Milliseconds of 99 of 100 requests at most; a request without an answer counts as the limit. */
  readonly p99: number;
  readonly requests: number;
  readonly failed: number;
}

const request = requestBytes("GET /things?id=eq.1");
/** The client gives a request this time. */
const limitMs = 5000;
/** Requests over one connection. */
const requestsPerConnection = 10;
const pauseMs = 5;

/** Sends requests one after the other, over new connections from time to time. */
export async function measureClient(port: number, milliseconds: number): Promise<Latencies> {
  const times: number[] = [];
  let failed = 0;
  const end = performance.now() + milliseconds;
  let connection: HttpConnection | null = null;
  while (performance.now() < end) {
    const began = performance.now();
    const turn: Promise<HttpConnection | null> = exchange(port, connection);
    connection = await Promise.race([turn, delay(limitMs).then(() => null)]);
    void turn.then((late) => late === connection ? undefined : late?.close());
    const isAnswered = connection !== null;
    times.push(isAnswered ? performance.now() - began : limitMs);
    if (!isAnswered) failed++;
    if (connection !== null && times.length % requestsPerConnection === 0) {
      connection.close();
      connection = null;
    }
    await delay(pauseMs);
  }
  connection?.close();
  const sorted = times.toSorted((one, other) => one - other);
  const p99 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? limitMs;
  return { p99, requests: times.length, failed };
}

/** Returns the connection after an answer of 200; null otherwise. */
async function exchange(port: number, kept: HttpConnection | null): Promise<HttpConnection | null> {
  let connection = kept;
  try {
    connection ??= await HttpConnection.connect(port);
    const { status } = await connection.exchange(request, "GET");
    if (status === 200) return connection.open ? connection : await HttpConnection.connect(port);
  } catch {
    // The service is not reachable, or has closed the connection.
  }
  connection?.close();
  return null;
}

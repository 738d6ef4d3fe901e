/**
 * A long answer that its client reads slowly.
 *
 * @module
 */
import { delay } from "../../support/delay.ts";

/** Makes `/rows`, of 200,000 rows of about 2 kB. */
export const longRows = `
  create view api.rows as
    select i as id, repeat('x', 2000) as note from generate_series(1, 200000) as i;
  grant select on api.rows to anon;`;

/** Milliseconds between two pieces of an answer that is read slowly. */
const pause = 5;

/** An answer that was read slowly: what its head promised, and what came. */
export interface SlowBody {
  readonly length: number;
  readonly received: number;
}

/** Sends a request; when the head has come, gives what reads the rest, piece by piece with pauses. */
export async function openSlowly(url: string): Promise<() => Promise<SlowBody>> {
  const response = await fetch(url);
  const length = Number(response.headers.get("Content-Length"));
  return async () => {
    let received = 0;
    try {
      for await (const piece of response.body!) {
        received += piece.length;
        await delay(pause);
      }
    } catch {
      // Shows in the length.
    }
    return { length, received };
  };
}

/** Whether all came that was promised. */
export function isWhole({ length, received }: SlowBody): boolean {
  return length > 0 && received === length;
}

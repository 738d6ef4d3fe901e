/** A long answer that its client reads slowly. @module */
import { delay } from "../../support/timing/delay.ts";

/** Makes `/rows`, of 200,000 rows of about 2 kB. */
export const longRows = `
  create view api.rows as
    select i as id, repeat('x', 2000) as note from generate_series(1, 200000) as i;
  grant select on api.rows to anon;`;

/** Milliseconds between two pieces of an answer that is read slowly. */
const pause = 5;

/** An answer that was read slowly. */
export interface SlowBody {
  /** Bytes that were received. */
  readonly received: number;
  /** Rows whose end was received. */
  readonly rows: number;
  /** Whether the body ended without an error, with the end of the array. */
  readonly hasEnd: boolean;
}

/** Sends a request; when the head has come, returns what reads the rest, piece by piece with pauses. */
export async function openSlowly(url: string): Promise<() => Promise<SlowBody>> {
  const response = await fetch(url);
  return async () => {
    let received = 0;
    let rows = 0;
    let last = 0;
    try {
      for await (const chunk of response.body!) {
        received += chunk.length;
        rows += countOf(rowEnd, chunk);
        last = chunk.at(-1) ?? last;
        await delay(pause);
      }
    } catch {
      return { received, rows, hasEnd: false };
    }
    return { received, rows, hasEnd: last === arrayEnd };
  };
}

/** The notes of the rows contain no brace. */
const rowEnd = "}".charCodeAt(0);
const arrayEnd = "]".charCodeAt(0);

function countOf(byte: number, bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at + 1)) count++;
  return count;
}

/** Whether all rows were received. */
export function isWhole({ rows, hasEnd }: SlowBody, expectedRows: number): boolean {
  return hasEnd && rows === expectedRows;
}

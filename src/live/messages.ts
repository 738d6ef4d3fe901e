/** The messages of live queries, in the format of Electric's shape log
 * (https://electric-sql.com/docs/api/http). @module */
import type { Difference } from "./difference.ts";
import type { PgSnapshot } from "./offset.ts";

const encoder = new TextEncoder();

export const mustRefetch = control("must-refetch");
/** They make an EventSource connect again after a second. */
export const retryEvents = encoder.encode("retry: 1000\n\n");

/** Messages up to `up-to-date`, with their encodings, which all subscribers share. */
export class MessageBatch {
  readonly size: number;
  #events: Uint8Array<ArrayBuffer> | null = null;

  /** The offset is the one behind the messages; null in the midst of a result. */
  constructor(readonly offset: string | null, readonly messages: readonly string[]) {
    this.size = messages.reduce((sum, { length }) => sum + length, 0);
  }

  get events(): Uint8Array<ArrayBuffer> {
    return this.#events ??= encodeEvents(this.messages, this.offset);
  }
}

/** Makes a stream begin anew. */
export const refetchBatch = new MessageBatch(null, [mustRefetch]);

/**
 * Returns one event per message, the last one with an id if there is an offset. JSON has carriage returns between
 * its tokens only; in an event they end the line.
 */
export function encodeEvents(messages: readonly string[], offset: string | null) {
  const events = messages.map((message) => `data: ${message.replaceAll("\r", " ")}\n\n`);
  if (offset !== null) events.push(`id: ${offset}_0\n${events.pop()}`);
  return encoder.encode(events.join(""));
}

export function encodeJson(messages: readonly string[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(`[${messages.join(",\n")}]`);
}

/** Returns the messages of changes, each with these headers. Deleted rows precede, so that a key may move. */
export function changeMessages(
  changes: Partial<Difference>,
  headers: { readonly lsn?: string },
): readonly string[] {
  return Object.entries(changes).flatMap(([operation, rows]) => {
    const start = `{"headers":${JSON.stringify({ operation, ...headers })},"key":`;
    return rows.map(({ key, value }) => `${start}${JSON.stringify(key)},"value":${value}}`);
  });
}

/** Returns the messages behind the rows, or the changes, up to a snapshot. */
export function endMessages({ xmin, xmax, xips }: PgSnapshot, offset: string): readonly string[] {
  const parts = { xmin: `${xmin}`, xmax: `${xmax}`, xip_list: xips };
  return [control("snapshot-end", parts), upToDate(offset)];
}

export function upToDate(offset: string): string {
  return control("up-to-date", { global_last_seen_lsn: offset });
}

function control(name: string, others: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ headers: { control: name, ...others } });
}

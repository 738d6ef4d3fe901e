/** The messages of live queries, in the format of Electric's shape log
 * (https://electric-sql.com/docs/api/http). @module */
import type { Difference } from "./difference.ts";
import type { PgSnapshot } from "./offset.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const mustRefetch = control("must-refetch");
/** Start of a stream. It makes an EventSource reconnect after a second. */
export const retryEvents = encoder.encode("retry: 1000\n\n");

/** Messages up to `up-to-date`, encoded once for all subscribers. */
export class MessageBatch {
  readonly events: Uint8Array<ArrayBuffer>;
  #json: Uint8Array<ArrayBuffer> | null = null;

  /** `offset` is the position after the messages; null if clients cannot continue there. */
  constructor(readonly offset: string | null, messages: readonly string[]) {
    this.events = encodeEvents(messages, offset);
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.events.length + (this.#json?.length ?? 0);
  }

  get json(): Uint8Array<ArrayBuffer> {
    return this.#json ??= encodeJson(this.messages);
  }

  get messages(): readonly string[] {
    const events = decoder.decode(this.events).split("\n\n").slice(0, -1);
    return events.map((event) => event.slice(event.indexOf("data: ") + "data: ".length));
  }
}

/** Joins consecutive batches; undefined for an empty list. Only the last state of each row is kept,
 * because the client may no longer have access to an earlier state. */
export function joinBatches(batches: readonly MessageBatch[]): MessageBatch | undefined {
  const last = batches.at(-1);
  if (last === undefined || batches.length === 1) return last;
  const rows = new Map<string, readonly [first: string, last: string, message: string]>();
  for (const message of batches.flatMap(({ messages }) => messages.slice(0, -2))) {
    const { key, headers: { operation } } = JSON.parse(message);
    rows.set(key, [rows.get(key)?.[0] ?? operation, operation, message]);
  }
  const joined = { delete: [] as string[], update: [] as string[], insert: [] as string[] };
  for (const [first, operation, message] of rows.values()) {
    const isDeleted = operation === "delete";
    if (first === "insert" && isDeleted) continue;
    const name = isDeleted ? "delete" : first === "insert" ? "insert" : "update";
    joined[name].push(message.replace(`"${operation}"`, `"${name}"`));
  }
  const changes = Object.values(joined).flat();
  return new MessageBatch(last.offset, [...changes, ...last.messages.slice(-2)]);
}

/** Batch that makes the client of a stream start again. */
export const refetchBatch = new MessageBatch(null, [mustRefetch]);

/** Returns one event per message. The last event has an id if there is an offset. Carriage returns
 * between tokens of JSON are removed, because they would end the line of the event. */
export function encodeEvents(messages: readonly string[], offset: string | null) {
  const events = messages.map((message) => `data: ${message.replaceAll("\r", " ")}\n\n`);
  if (offset !== null) events.push(`id: ${offset}_0\n${events.pop()}`);
  return encoder.encode(events.join(""));
}

export function encodeJson(messages: readonly string[]): Uint8Array<ArrayBuffer> {
  return encoder.encode(`[${messages.join(",\n")}]`);
}

/** Returns the messages of changes, each with `headers`. Deletions come first, because a key may move
 * to another row. */
export function changeMessages(
  changes: Partial<Difference>,
  headers: { readonly lsn?: string },
): readonly string[] {
  return Object.entries(changes).flatMap(([operation, rows]) => {
    const start = `{"headers":${JSON.stringify({ operation, ...headers })},"key":`;
    return rows.map(({ key, value }) => `${start}${JSON.stringify(key)},"value":${value}}`);
  });
}

/** Returns the messages at the end of a batch: the snapshot of the rows, and the offset to continue from. */
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

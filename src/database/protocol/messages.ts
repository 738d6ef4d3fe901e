/** Constants and small messages of PostgreSQL's protocol, version 3. @module */

export const textFormat = 0;
export const binaryFormat = 1;

/** Type bytes of backend messages. */
export const backend = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  closeComplete: 0x33,
  commandComplete: 0x43,
  dataRow: 0x44,
  emptyQuery: 0x49,
  error: 0x45,
  notice: 0x4e,
  notification: 0x41,
  parameterStatus: 0x53,
  ready: 0x5a,
  noData: 0x6e,
  rowDescription: 0x54,
  parameterDescription: 0x74,
  copyIn: 0x47,
  copyOut: 0x48,
  copyBoth: 0x57,
  copyData: 0x64,
  copyDone: 0x63,
} as const;

const text = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes chunks of UTF-8. A character may be split between chunks. */
export function joinText(chunks: readonly Uint8Array[]): string {
  if (chunks.length === 1) return text.decode(chunks[0]);
  const streaming = new TextDecoder("utf-8", { ignoreBOM: true });
  return chunks.map((chunk) => streaming.decode(chunk, { stream: true })).join("") +
    streaming.decode();
}

/** Reads fields by their one-letter type. A truncated payload truncates the last field. */
export function readFields(payload: Uint8Array): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let at = 0;
  while (at < payload.length && payload[at] !== 0) {
    const zero = payload.indexOf(0, at + 1);
    const end = zero < 0 ? payload.length : zero;
    fields.set(String.fromCharCode(payload[at]!), text.decode(payload.subarray(at + 1, end)));
    at = end + 1;
  }
  return fields;
}

export interface ServerNotification {
  readonly channel: string;
  readonly payload: string;
}

/** Reads a NotificationResponse, which begins with the process of the sender. */
export function readNotification(message: Uint8Array): ServerNotification {
  const [channel = "", payload = ""] = text.decode(message.subarray(4)).split("\0");
  return { channel, payload };
}

/** Returns a CancelRequest message, which needs a separate connection. */
export function cancelFrame(processId: number, secretKey: number): Uint8Array {
  const frame = new Uint8Array(16);
  const view = new DataView(frame.buffer);
  view.setInt32(0, 16);
  view.setInt32(4, 80877102);
  view.setInt32(8, processId);
  view.setInt32(12, secretKey);
  return frame;
}

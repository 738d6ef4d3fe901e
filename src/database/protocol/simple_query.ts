/** The simple query protocol: one text with any number of statements. @module */

/** One backend message. The payload is a view of the received bytes. */
export type Frame = readonly [type: number, payload: Uint8Array];

export function queryFrame(text: string): Uint8Array {
  return textFrame(0x51, text);
}

export function copyFailFrame(reason: string): Uint8Array {
  return textFrame(0x66, reason);
}

function textFrame(type: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const frame = new Uint8Array(bytes.length + 6);
  frame[0] = type;
  new DataView(frame.buffer).setInt32(1, bytes.length + 5);
  frame.set(bytes, 5);
  return frame;
}

/** Lists the complete messages of a text of bytes. Returns the length of their bytes. */
export function* frames(bytes: Uint8Array): Generator<Frame, number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + 5 <= bytes.length) {
    const end = at + 1 + view.getInt32(at + 1);
    if (end > bytes.length) break;
    yield [bytes[at]!, bytes.subarray(at + 5, end)];
    at = end;
  }
  return at;
}

const text = new TextDecoder();

export function readColumnNames(payload: Uint8Array): readonly string[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const names: string[] = [];
  let at = 2;
  for (let column = 0; column < view.getInt16(0); column++) {
    const zero = payload.indexOf(0, at);
    names.push(text.decode(payload.subarray(at, zero)));
    at = zero + 19;
  }
  return names;
}

/** Reads a DataRow whose values are texts; null for SQL NULL. */
export function readRow(payload: Uint8Array): readonly (string | null)[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const values: (string | null)[] = [];
  let at = 2;
  for (let column = 0; column < view.getInt16(0); column++) {
    const length = view.getInt32(at);
    at += 4;
    values.push(length < 0 ? null : text.decode(payload.subarray(at, at + length)));
    at += Math.max(length, 0);
  }
  return values;
}

/** Reads the text of a CommandComplete: `INSERT 0 1`. */
export function readTag(payload: Uint8Array): string {
  return text.decode(payload.subarray(0, -1));
}

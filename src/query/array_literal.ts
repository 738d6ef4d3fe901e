/**
 * Writes array literals of PostgreSQL. Each element is quoted.
 *
 * @module
 */
import { ByteWriter } from "../request/byte_writer.ts";

const [openBrace, closeBrace, comma, quote, backslash] = [0x7b, 0x7d, 0x2c, 0x22, 0x5c];

const utf8 = new TextEncoder();

/** Returns the array as text, or as UTF-8 bytes if any element is bytes. */
export function arrayOf(elements: readonly (string | Uint8Array)[]): string | Uint8Array {
  const texts = elements.filter((element) => typeof element === "string");
  return texts.length === elements.length ? arrayLiteral(texts) : arrayBytes(elements);
}

/** Returns the array literal of texts. */
export function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.map((element) => `"${element.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

function arrayBytes(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const writer = new ByteWriter();
  elements.forEach((element, index) => {
    writer.byte(index === 0 ? openBrace : comma);
    writer.byte(quote);
    writeEscaped(writer, typeof element === "string" ? utf8.encode(element) : element);
    writer.byte(quote);
  });
  writer.byte(closeBrace);
  return writer.take();
}

function writeEscaped(writer: ByteWriter, bytes: Uint8Array): void {
  let start = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== quote && bytes[at] !== backslash) continue;
    writer.bytes(bytes, start, at);
    writer.byte(backslash);
    start = at;
  }
  writer.bytes(bytes, start);
}

/** Offsets of live queries. An offset is a number that contains a snapshot, its time and the sum of
 * a result's content. @module */
import { builtinModule } from "../../base/lib/builtin_modules.ts";

export interface PgSnapshot {
  readonly text: string;
  readonly xmin: bigint;
  readonly xmax: bigint;
  /** Transactions below `xmax` that were in progress. */
  readonly xips: readonly string[];
}

export function parsePgSnapshot(text: string): PgSnapshot {
  const [xmin = "", xmax = "", xips = ""] = text.split(":");
  return { text, xmin: BigInt(xmin), xmax: BigInt(xmax), xips: xips === "" ? [] : xips.split(",") };
}

export interface LiveOffset {
  readonly xmax: bigint;
  /** Epoch milliseconds of the run. */
  readonly ms: number;
  /** Identifies the content: see {@linkcode sumOf}. */
  readonly sum: bigint;
}

/** Returns the number `xmax·2^112 + ms·2^64 + sum`. */
export function offsetText({ xmax, ms, sum }: LiveOffset): string {
  return String(xmax << 112n | BigInt(ms) << 64n | sum);
}

/** Parses an offset of a client, `<number>_<number>`; null for other texts. */
export function readOffset(text: string): LiveOffset | null {
  const [, digits] = /^(\d{1,53})_\d{1,20}$/.exec(text) ?? [];
  if (digits === undefined) return null;
  const number = BigInt(digits);
  const ms = Number(BigInt.asUintN(48, number >> 64n));
  return { xmax: number >> 112n, ms, sum: BigInt.asUintN(64, number) };
}

/** Returns the length of a text in UTF-8. */
export function byteLength(text: string): number {
  return builtinModule("node:buffer")!.Buffer.byteLength(text);
}

/** Returns the first 64 bits of the SHA-256 hash of a text. The sum of the hashes of a result's rows,
 * modulo 2^64, identifies its content. */
export function sumOf(text: string): bigint {
  const hash = builtinModule("node:crypto")!.createHash("sha256").update(text).digest();
  return new DataView(hash.buffer, hash.byteOffset).getBigUint64(0);
}

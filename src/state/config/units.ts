/** Codecs of times and sizes: numbers, or texts with a unit. @module */
import { accept, type Codec, quote, type RawValue, reject } from "./codecs.ts";

/** Milliseconds by unit. */
const timeUnits: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["", 1000],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Bytes by unit. */
const sizeUnits: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["k", 1024],
  ["m", 1024 ** 2],
  ["g", 1024 ** 3],
]);

/** Bounds in the unit of the result: seconds or bytes. */
interface UnitBounds {
  readonly min?: number;
  readonly max: number;
}

/** Maximum time. PostgreSQL and timers count milliseconds in 31 bits. */
const maxTimeMs = 2_147_483_647;

/**
 * Returns the codec of times. A number, or a text without unit, is in seconds; units are `ms`, `s`,
 * `m`, `h` and `d`. The value is in seconds and has at most three decimals.
 */
export function time({ min = 0, max = maxTimeMs / 1000 }: Partial<UnitBounds> = {}): Codec<number> {
  const format = {
    expected: `seconds${bounds({ min, max })}, or a text such as "500ms", "10s", "2m"`,
  };
  return {
    type: "time",
    read(raw, { invalidConfig }) {
      const ms = amount(raw, timeUnits);
      if (ms === null && invalidConfig === "ignored") return { kind: "unset" };
      const fits = ms !== null && ms >= min * 1000 && ms <= max * 1000;
      return fits ? accept(ms / 1000) : reject(raw, format);
    },
    print: (seconds) =>
      Number.isInteger(seconds) ? String(seconds) : quote(`${Math.round(seconds * 1000)}ms`),
  };
}

/**
 * Returns the codec of sizes. A number, or a text without unit, is in bytes; the units `k`, `m` and
 * `g` are powers of 1024. The value is in bytes.
 */
export function size(
  { min = 0, max }: UnitBounds = { max: Number.MAX_SAFE_INTEGER },
): Codec<number> {
  const format = { expected: `bytes${bounds({ min, max })}, or a text such as "64k", "10m", "1g"` };
  return {
    type: "size",
    read(raw, { invalidConfig }) {
      const bytes = amount(raw, sizeUnits);
      if (bytes === null && invalidConfig === "ignored") return { kind: "unset" };
      const fits = bytes !== null && bytes >= min && bytes <= max;
      return fits ? accept(bytes) : reject(raw, format);
    },
    print: String,
  };
}

/** Parses a text as {@linkcode time} does. Returns seconds; null for an invalid text. */
export function secondsOf(text: string): number | null {
  const ms = amount(text, timeUnits);
  return ms === null ? null : ms / 1000;
}

function bounds({ min = 0, max }: UnitBounds): string {
  if (max === Number.MAX_SAFE_INTEGER || max === maxTimeMs / 1000) {
    return min === 0 ? "" : ` of at least ${min}`;
  }
  return ` from ${min} to ${max}`;
}

/** Parses a value with or without a unit. Returns a whole number of the smallest unit, or null. */
function amount(raw: RawValue, units: ReadonlyMap<string, number>): number | null {
  const text = typeof raw === "number" ? String(raw) : raw;
  const [, digits, unit] = typeof text === "string"
    ? /^([0-9]+(?:\.[0-9]{1,3})?)([a-z]*)$/i.exec(text.trim()) ?? []
    : [];
  const factor = unit === undefined ? undefined : units.get(unit.toLowerCase());
  if (digits === undefined || factor === undefined) return null;
  // The product is rounded, because decimals such as 0.29 times 1000 are not exact.
  const product = Number((Number(digits) * factor).toFixed(3));
  return Number.isSafeInteger(product) ? product : null;
}

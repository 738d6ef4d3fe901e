/** The rows of a live query, and the difference between two runs. @module */
import { byteLength, sumOf } from "./offset.ts";

/** A changed row. `value` is the row as JSON. For a deleted row, it only has the columns of the key. */
export interface ChangedRow {
  readonly key: string;
  readonly value: string;
}

/** Reads the key of a line, as a deleted row. Returns null if only the whole line identifies the row. */
export type ReadLineKey = (line: string) => ChangedRow | null;

/** Changes from one result to the next, in the order in which clients apply them. */
export type Difference = Readonly<Record<"delete" | "update" | "insert", readonly ChangedRow[]>>;

/** Additional bytes of a row in memory, and of its message. */
const rowOverheadBytes = 120;

/** Returns the bytes of rows in memory, and of their messages for a new client. `lines` are the rows as JSON. */
export function linesBytes(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + 2 * (textBytes(line) + rowOverheadBytes), 0);
}

/** Returns the bytes of a text in memory, or in UTF-8 if that is more. */
export function textBytes(text: string): number {
  const bytes = byteLength(text);
  return bytes === text.length ? bytes : Math.max(bytes, 2 * text.length);
}

export function lineKeyReader(columns: readonly string[]): ReadLineKey {
  if (columns.length === 0) return () => null;
  return (line) => {
    const row = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const values = columns.map((name) => row[name]);
    if (!values.every(isExact)) return null;
    const key = values.map((value) => JSON.stringify(String(value))).join("/");
    const members = columns.map((name, index) => [name, values[index]]);
    return { key, value: JSON.stringify(Object.fromEntries(members)) };
  };
}

/** Returns whether JavaScript reads a value of a key exactly. Rounding could make two keys equal. */
function isExact(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
}

/** The rows of a result as lines of JSON. */
export class ResultRows {
  /** Keys by slot. A slot is a line. If the result repeats the line, a line end and a number follow it. */
  #keys = new Map<string, string>();
  readonly #slots = new Map<string, string>();
  sum = 0n;
  bytes = 0;

  all(): readonly ChangedRow[] {
    return Array.from(this.#keys, ([slot, key]) => ({ key, value: lineOf(slot) }));
  }

  /** Replaces the rows. Returns the difference; null if the rows are equal. Reads only the keys of new lines. */
  update(lines: readonly string[], keyOf: ReadLineKey): Difference | null {
    const { next, added } = this.#place(lines);
    const missing = new Map<string, string>();
    if (next.size - added.length < this.#keys.size) {
      for (const [slot, key] of this.#keys) if (!next.has(slot)) missing.set(key, slot);
    }
    for (const [key, slot] of missing) {
      this.#slots.delete(key);
      this.#add(slot, -1);
    }
    const changed = { update: [] as ChangedRow[], insert: [] as ChangedRow[] };
    for (const slot of added) {
      const value = lineOf(slot);
      const key = this.#freeKey(keyOf(value)?.key ?? slot);
      next.set(slot, key);
      this.#slots.set(key, slot);
      this.#add(slot, 1);
      changed[missing.delete(key) ? "update" : "insert"].push({ key, value });
    }
    const deleted = Array.from(missing, ([key, slot]): ChangedRow => {
      const line = lineOf(slot);
      return { key, value: keyOf(line)?.value ?? line };
    });
    this.#keys = next;
    this.bytes = linesBytes(lines);
    return deleted.length + added.length === 0 ? null : { delete: deleted, ...changed };
  }

  /** Assigns lines to slots, with the keys of known slots. Returns the slots that have no key yet. */
  #place(lines: readonly string[]) {
    const next = new Map<string, string>();
    const added: string[] = [];
    const repeats = new Map<string, number>();
    for (const line of lines) {
      let slot = line;
      if (next.has(line)) {
        const number = (repeats.get(line) ?? 1) + 1;
        repeats.set(line, number);
        slot = `${line}\n${number}`;
      }
      const key = this.#keys.get(slot);
      next.set(slot, key ?? "");
      if (key === undefined) added.push(slot);
    }
    return { next, added };
  }

  /** Returns a key that no other row has, because a result may contain a key of the table several times. */
  #freeKey(key: string): string {
    let free = key;
    for (let number = 2; this.#slots.has(free); number++) free = `${key}/${number}`;
    return free;
  }

  /** Adds the hash of a row to the sum, or subtracts it. */
  #add(slot: string, sign: 1 | -1): void {
    this.sum = BigInt.asUintN(64, this.sum + BigInt(sign) * sumOf(lineOf(slot)));
  }
}

function lineOf(slot: string): string {
  return slot.split("\n", 1)[0]!;
}

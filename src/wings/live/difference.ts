/** The rows of a live query, and their difference to the rows of a new run. @module */
import { byteLength, sumOf } from "./offset.ts";

/** A row of a difference. Its value is JSON text; the message of a deleted row has the columns of
 * its key. */
export interface ChangedRow {
  readonly key: string;
  readonly value: string;
}

/** Returns a row as a deleted one; null for one that only its text identifies. */
export type ReadLineKey = (line: string) => ChangedRow | null;

/** The changes that lead from one content to the next, in their order. */
export type Difference = Readonly<Record<"delete" | "update" | "insert", readonly ChangedRow[]>>;

/** Bytes that a row takes in addition to its text, and bytes of its message. */
const rowOverheadBytes = 120;

/** Returns the bytes that rows with these texts take, with the messages for a client that begins. */
export function linesBytes(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + 2 * (textBytes(line) + rowOverheadBytes), 0);
}

/** Returns the bytes of a text in memory, or as UTF-8 if these are more. */
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

/** Whether JSON has kept a value: it rounds other numbers, so that two keys may become one. */
function isExact(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
}

/** The rows of a result as lines of JSON. */
export class ResultRows {
  /** Keys by slot: the line, with a number after a line end if the result repeats it. */
  #keys = new Map<string, string>();
  readonly #slots = new Map<string, string>();
  sum = 0n;
  bytes = 0;

  all(): readonly ChangedRow[] {
    return Array.from(this.#keys, ([slot, key]) => ({ key, value: lineOf(slot) }));
  }

  /** Replaces the rows, and returns the difference, or null if the rows are equal. Reads the keys
   * of new lines only. */
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

  /** Gives each line its slot, with the key that it has; returns the slots without a key. */
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

  /** Returns a key that no other row has: a result may repeat the key of a table. */
  #freeKey(key: string): string {
    let free = key;
    for (let number = 2; this.#slots.has(free); number++) free = `${key}/${number}`;
    return free;
  }

  /** Adds a row to the sum, or takes it off. */
  #add(slot: string, sign: 1 | -1): void {
    this.sum = BigInt.asUintN(64, this.sum + BigInt(sign) * sumOf(lineOf(slot)));
  }
}

function lineOf(slot: string): string {
  return slot.split("\n", 1)[0]!;
}

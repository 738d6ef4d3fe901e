/** A property that holds for each value of a kind, and its runs. @module */
import fc from "fast-check";
import { ServiceError } from "../../src/base/errors/service_error.ts";

/** Values that once broke a property, by the names of targets. They run first. */
const keptCases: Readonly<Record<string, readonly unknown[]>> = JSON.parse(
  await Deno.readTextFile(new URL("cases.json", import.meta.url)),
);

export interface FuzzRun {
  readonly seed: number;
  /** Number of generated values. */
  readonly runs: number;
  /** Where the seed's failure is, as a report names it. Default: from the beginning. */
  readonly path?: string | undefined;
}

/** A property of a parser. */
export interface FuzzTarget {
  readonly name: string;
  /** Number of values in `deno task test`. */
  readonly runs: number;
  /** Runs kept and generated values. Throws an `Error` with the smallest value that fails. */
  run(run: FuzzRun): Promise<void>;
}

/** Makes a target. Values are JSON, so that a report can be kept in `cases.json`. */
export function fuzzTarget<Value>(
  { name, runs, values, check }: {
    readonly name: string;
    readonly runs: number;
    readonly values: fc.Arbitrary<Value>;
    /** Throws if the property does not hold. */
    readonly check: (value: Value) => void | Promise<void>;
  },
): FuzzTarget {
  const property = fc.asyncProperty(values, async (value) => void await check(value));
  const run = async ({ seed, runs, path }: FuzzRun) => {
    for (const kept of keptCases[name] ?? []) await check(kept as Value);
    const details = await fc.check(property, { seed, numRuns: runs, ...(path ? { path } : {}) });
    const { failed, counterexample, counterexamplePath, errorInstance, numRuns } = details;
    if (!failed) return;
    const report = [
      `${name}: value ${numRuns} of the seed ${seed} fails. The smallest value that fails is`,
      JSON.stringify(counterexample?.[0]),
      `Repeat it: deno task fuzz --target "${name}" --seed ${seed} --path ${counterexamplePath}`,
      `Keep it: add the value to "${name}" in tests/fuzz/cases.json`,
      String(errorInstance),
    ];
    throw new Error(report.join("\n"), { cause: errorInstance });
  };
  return { name, runs, run };
}

/** Returns a result; undefined if the service refuses the input. Whatever else is thrown is a bug. */
export function unlessRefused<Result>(run: () => Result): Result | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Returns what other means than the service read; undefined if they fail. */
export function attempt<Result>(run: () => Result): { readonly value: Result } | undefined {
  try {
    return { value: run() };
  } catch {
    return undefined;
  }
}

export const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns a text's bytes: one for each character, which is at most U+00FF. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Returns the text for {@linkcode bytesOf}. */
export function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** Lengths of pieces, one after the other and then again; none for the whole in one. */
export const cuts = fc.array(fc.integer({ min: 1, max: 24 }), { maxLength: 4 });

/** Cuts bytes. Each piece is a copy, which a decoder may change. */
export function* cutBytes(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, piece = 0; at < bytes.length; piece++) {
    const end = at + (lengths[piece % lengths.length] ?? bytes.length);
    yield bytes.slice(at, end);
    at = end;
  }
}

/** Replaces some characters of texts by tokens, often the last ones. */
export function altered(
  texts: fc.Arbitrary<string>,
  tokens: readonly string[],
): fc.Arbitrary<string> {
  const token = fc.constantFrom(...tokens);
  const place = fc.oneof(fc.integer({ min: -4, max: -1 }), fc.nat(200));
  const put = fc.oneof(token, fc.string({ unit: token, maxLength: 2 }));
  const edit = fc.tuple(place, fc.nat(4), put);
  return fc.tuple(texts, fc.array(edit, { maxLength: 3 })).map(([text, edits]) =>
    edits.reduce((each, [place, removed, put]) => {
      const at = place < 0 ? Math.max(each.length + place, 0) : place % (each.length + 1);
      return each.slice(0, at) + put + each.slice(at + removed);
    }, text)
  );
}

/** Altered examples, and tokens of a grammar in any order. */
export function texts(
  examples: readonly string[],
  tokens: readonly string[],
): fc.Arbitrary<string> {
  const loose = fc.string({ unit: fc.constantFrom(...tokens), maxLength: 12 });
  return fc.oneof(loose, altered(fc.constantFrom(...examples), tokens));
}

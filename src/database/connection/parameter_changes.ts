/** Watches the parameters of a session that decide how values are written. @module */

/** Parameters on which all transactions of a connection rely. */
const watchedNames: ReadonlySet<string> = new Set([
  "client_encoding",
  "DateStyle",
  "IntervalStyle",
  "standard_conforming_strings",
]);

/** The watched parameters whose values have changed since the start of the connection. */
export class ParameterChanges {
  readonly #initial: ReadonlyMap<string, string> | undefined;
  readonly #changed = new Set<string>();

  /** `initial` is undefined if the values at the start are not known. */
  constructor(initial: ReadonlyMap<string, string> | undefined) {
    this.#initial = initial;
  }

  /** The name of a changed parameter; undefined if none is changed. */
  get first(): string | undefined {
    const [name] = this.#changed;
    return name;
  }

  /** Reads the payload of a ParameterStatus message. */
  take(payload: Uint8Array): void {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(payload);
    const [name = "", value] = text.split("\0");
    const initial = this.#initial?.get(name);
    if (initial === undefined || !watchedNames.has(name)) return;
    if (value === initial) this.#changed.delete(name);
    else this.#changed.add(name);
  }
}

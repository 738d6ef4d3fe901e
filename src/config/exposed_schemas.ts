/** The schemas of `db-schemas`, and which of them serve what another one lacks. @module */
import { checkSchema } from "./checks.ts";
import { accept, type Codec, list, quote, reject } from "./codecs.ts";

/** Exposed schemas; the first is the default. */
export interface ExposedSchemas extends ReadonlyArray<string> {
  /**
   * Schemas that serve what a schema lacks, in order, by its name. Default: each serves only what it
   * has.
   */
  readonly fallbacks?: ReadonlyMap<string, readonly string[]>;
  /** The items of the list: `v2 < v1`. Default: the schemas. */
  readonly items?: readonly string[];
}

const facts = {
  expected: "schemas in quotes, separated by commas",
  empty: "unset",
  check: (item: string) => {
    const names = item.split("<").map((name) => name.trim());
    if (names.includes("")) return "has no schema on one side of <";
    return names.map(checkSchema).find((verdict) => verdict !== true) ?? true;
  },
} as const;

const items = list(facts);

/** `Schemas = Versions *( "," Versions )`, `Versions = name *( "<" name )`, newest first. */
export const exposedSchemas: Codec<ExposedSchemas> = {
  ...items,
  read(raw, context) {
    const read = items.read(raw, context);
    if (read.kind !== "value" || !read.value.some((item) => item.includes("<"))) return read;
    const chains = read.value.map((item) => item.split("<").map((name) => name.trim()));
    const older = new Map<string, string>();
    for (const [name, next] of chains.flatMap(pairs)) {
      if ((older.get(name) ?? next) !== next) {
        return reject(raw, facts, `has two schemas behind '${name} <'`);
      }
      older.set(name, next);
    }
    const names = [...new Set(chains.flat())];
    const fallbacks = new Map([...older.keys()].map((name) => [name, chainOf(name, older)]));
    const cycle = names.find((name) => fallbacks.get(name)?.includes(name));
    if (cycle !== undefined) return reject(raw, facts, `has '${cycle}' behind itself`);
    return accept(Object.assign(names, { fallbacks, items: chains.map((c) => c.join(" < ")) }));
  },
  print: (schemas) => quote((schemas.items ?? schemas).join(",")),
};

function pairs(chain: readonly string[]): readonly (readonly [name: string, next: string])[] {
  return chain.slice(1).map((next, index) => [chain[index]!, next]);
}

/** Follows a name; a cycle ends with the name that it returns to. */
function chainOf(name: string, older: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  for (
    let next = older.get(name);
    next !== undefined && !found.includes(next);
    next = older.get(next)
  ) found.push(next);
  return found;
}

/** The schemas of `db-schemas`, and the fallbacks of each. @module */
import { checkSchema } from "./checks.ts";
import { accept, type Codec, list, quote, reject } from "./codecs.ts";

/** Exposed schemas; the first is the default. */
export interface ExposedSchemas extends ReadonlyArray<string> {
  /** Fallbacks of each schema in order, by its name: schemas that provide the objects it lacks.
   * Default: no fallbacks. */
  readonly fallbacks?: ReadonlyMap<string, readonly string[]>;
}

const format = {
  expected: "schemas in quotes, separated by commas",
  check: (item: string) => {
    const schemas = namesOf(item);
    if (schemas.includes("")) return "has no schema on one side of <";
    return schemas.map(checkSchema).find((verdict) => verdict !== true) ?? true;
  },
} as const;

const names = list(format);

/** `Schemas = Versions *( "," Versions )`, `Versions = name *( "<" name )`, newest first. */
export const exposedSchemas: Codec<ExposedSchemas> = {
  ...names,
  read(raw, context) {
    const read = names.read(raw, context);
    if (read.kind !== "value" || !read.value.some((item) => item.includes("<"))) return read;
    const chains = read.value.map(namesOf);
    const behind = new Map<string, readonly string[]>();
    for (const [name, others] of chains.flatMap(suffixesOf)) {
      if ((behind.get(name) ?? others).join("<") !== others.join("<")) {
        return reject(raw, format, `names '${name}' twice, with other schemas behind it`);
      }
      behind.set(name, others);
    }
    const fallbacks = new Map([...behind].filter(([, others]) => others.length > 0));
    return accept(Object.assign([...new Set(chains.flat())], { fallbacks }));
  },
  print: (schemas) =>
    quote(
      schemas.map((name) => [name, ...schemas.fallbacks?.get(name) ?? []].join(" < ")).join(","),
    ),
};

function namesOf(item: string): readonly string[] {
  return item.split("<").map((name) => name.trim());
}

/** Returns the schemas of a chain. The fallbacks of each are the names after it. A single schema
 * has no fallbacks. */
function suffixesOf(chain: readonly string[]) {
  return chain.length === 1 ? [] : chain.map((name, at) => [name, chain.slice(at + 1)] as const);
}

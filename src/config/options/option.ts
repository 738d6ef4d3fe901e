/** The type of a row of the table of options. @module */
import type { Codec } from "../codecs.ts";

/** The default of a required option. */
export const required = { required: true } as const;

/** The default of an option that defaults to the value of another option. */
export interface SameAs {
  readonly sameAs: "server-host";
}

/** The default of an option whose default depends on the dialect: `Dialect.defaults`. */
export const ofDialect = { ofDialect: true } as const;

/** Returns whether a default marks a required option. */
export function isRequired(fallback: unknown): boolean {
  return fallback === required;
}

/** Returns whether a default is another option's value. */
export function isSameAs(fallback: unknown): fallback is SameAs {
  return typeof fallback === "object" && fallback !== null && "sameAs" in fallback;
}

/** Returns whether a default depends on the dialect. */
export function isOfDialect(fallback: unknown): boolean {
  return fallback === ofDialect;
}

export type Fallback<T> = T | null | typeof required | typeof ofDialect | SameAs;

/** One option. `T` is the type of its values, `D` the type of its default; null for none. */
export interface Option<T, D = Fallback<T>> {
  /** Other spellings of the key, used if the key has no value in any source. Default: none. */
  readonly aliases?: readonly string[];
  /** The aliases take precedence over the key. Default: false. */
  readonly aliasFirst?: true;
  readonly codec: Codec<T>;
  readonly default: D;
  /** Whether a reload of the configuration applies a new value. */
  readonly reloadable: boolean;
  /** Whether the database may set it, as `svc.<key with underscores>`. */
  readonly inDatabase: boolean;
  /** One sentence. */
  readonly doc: string;
  /** A sensible value, as text of the file. */
  readonly example: string;
  /** The example file sets the option instead of commenting it out. Default: false. */
  readonly isUncommented?: true;
  /** The option is checked, but has no effect. Default: false. */
  readonly isUnused?: true;
  /** PostgREST lacks the option: the dump omits it at its default. Default: false. */
  readonly extension?: true;
}

/** An option as it is written: its exceptions only. */
export type OptionRow<T, D = Fallback<T>> =
  & Omit<Option<T, D>, "extension" | "inDatabase" | "reloadable">
  & {
    /** Default: true. */
    readonly reloadable?: boolean;
    /** Default: that of `reloadable`. */
    readonly inDatabase?: boolean;
    /** PostgREST has the option. Default: false. */
    readonly isOfPostgrest?: true;
  };

/** Returns the option of a row, with the types of its values and its default. */
export function option<T, const D extends Fallback<T>>(
  { isOfPostgrest, reloadable = true, inDatabase = reloadable, ...row }: OptionRow<T, D>,
): Option<T, D> {
  return { ...row, reloadable, inDatabase, ...(isOfPostgrest ? {} : { extension: true }) };
}

/** The type of a row of the table of options. @module */
import { boolean, type Codec } from "../codecs.ts";

export const required = { required: true } as const;

/** The default of an option that defaults to the value of another option. */
export interface SameAs {
  readonly sameAs: "server-host";
}

/** The default of an option whose default depends on the dialect: `Dialect.defaults`. */
export const ofDialect = { ofDialect: true } as const;

export function isSameAs(fallback: unknown): fallback is SameAs {
  return typeof fallback === "object" && fallback !== null && "sameAs" in fallback;
}

export type Fallback<T> = T | null | typeof required | typeof ofDialect | SameAs;

/** One option. `T` is the type of its values, `D` the type of its default, or null. */
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
  /** PostgREST lacks the option: the dump omits it at its default. Default: false. */
  readonly extension?: true;
  /** The value is a path that the API answers, so that no other option may have it. Default: it is not. */
  readonly endpoint?: Endpoint;
  /** Each worker of a process gets its part of the value. Default: false. */
  readonly isShared?: true;
  /** While this option is set, required options may have no value. Default: false. */
  readonly replacesRequired?: true;
}

/** A path that an option adds to the API. */
export interface Endpoint {
  /** `below`: the option is a prefix, and the paths below it end with relations. */
  readonly paths: "one" | "below";
  /** Requests a minute that a token may send, if no policy of `rate-limits` is for the path. Default: any number. */
  readonly requestsPerMinute?: number;
}

/** Options by key. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** An option as it is written: its exceptions only. */
export type OptionRow<T, D = Fallback<T>> =
  & Omit<Option<T, D>, "example" | "extension" | "inDatabase" | "reloadable">
  & {
    /** Default: `true` of an option that is false by default, else the default. */
    readonly example?: string;
    /** Default: true. */
    readonly reloadable?: boolean;
    /** Default: the value of `reloadable`. */
    readonly inDatabase?: boolean;
    /** PostgREST has the option. Default: false. */
    readonly isOfPostgrest?: true;
  };

/** Returns the option of a row, with the types of its values and its default. */
export function option<T, const D extends Fallback<T>>(
  { isOfPostgrest, reloadable = true, inDatabase = reloadable, ...row }: OptionRow<T, D>,
): Option<T, D> {
  const { codec, default: fallback, example = exampleOf(codec, fallback) } = row;
  const dialects = isOfPostgrest ? {} : { extension: true } as const;
  return { ...row, example, reloadable, inDatabase, ...dialects };
}

function exampleOf<T>({ print }: Codec<T>, fallback: unknown): string {
  return fallback === false ? "true" : print(fallback as T, { secretIsBase64: false });
}

/** Returns the option of a row that is false by default. */
export function flag(
  row: Omit<OptionRow<boolean, false>, "codec" | "default">,
): Option<boolean, false> {
  return option<boolean, false>({ ...row, codec: boolean, default: false });
}

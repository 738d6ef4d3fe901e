/** The type of a row of the table of options. @module */
import { boolean, type Codec } from "../codecs.ts";

export const required = { required: true } as const;

/** Default of an option: the value of another option. */
export interface SameAs {
  readonly sameAs: "server-host";
}

/** Marks a default that depends on the dialect. `Dialect.defaults` contains its value. */
export const ofDialect = { ofDialect: true } as const;

export function isSameAs(fallback: unknown): fallback is SameAs {
  return typeof fallback === "object" && fallback !== null && "sameAs" in fallback;
}

export type Fallback<T> = T | null | typeof required | typeof ofDialect | SameAs;

/** One option. `T` is the type of its values. `D` is the type of its default, or null. */
export interface Option<T, D = Fallback<T>> {
  /** Other spellings of the key. They apply only if no source sets the key. Default: none. */
  readonly aliases?: readonly string[];
  /** Whether aliases take precedence over the key. Default: false. */
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
  /**
   * Whether PostgREST lacks the option, so that the dump omits it at its default. Default: false.
   */
  readonly extension?: true;
  /** Present if the value is a path of the API, which no other option may have. Default: absent. */
  readonly endpoint?: Endpoint;
  /** Whether each worker of a process gets a share of the value. Default: false. */
  readonly isShared?: true;
  /** Whether required options may be unset while this one is set. Default: false. */
  readonly replacesRequired?: true;
}

/** A path that an option adds to the API. */
export interface Endpoint {
  /** `below`: the value is a prefix, and each path below it ends with a relation. */
  readonly paths: "one" | "below";
  /** Maximum requests per minute of one token, unless a policy of `rate-limits` covers the path.
   * Default: no limit. */
  readonly requestsPerMinute?: number;
}

/** Options by key. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** A row of the option table. Fields of {@linkcode Option} at their default may be absent. */
export type OptionRow<T, D = Fallback<T>> =
  & Omit<Option<T, D>, "example" | "extension" | "inDatabase" | "reloadable">
  & {
    /** Default: `true` for an option that is false by default, otherwise the default. */
    readonly example?: string;
    /** Default: true. */
    readonly reloadable?: boolean;
    /** Default: the value of `reloadable`. */
    readonly inDatabase?: boolean;
    /** Whether PostgREST has the option. Default: false. */
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

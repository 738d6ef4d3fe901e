/** Chooses the representation: the first accepted type that the service can produce. @module */
import type { Config } from "../../state/config/options.ts";
import type { Dialect } from "../../base/dialect.ts";
import { errors } from "../../base/errors/catalogue.ts";
import {
  canonicalText,
  type MediaRange,
  parseMediaType,
  type PlanOption,
} from "../../base/http/media_type.ts";
import type {
  MediaHandler,
  QualifiedName,
  Routine,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";

export type BodyFormat =
  | { readonly kind: "array"; readonly stripped: boolean }
  | { readonly kind: "object"; readonly stripped: boolean }
  | { readonly kind: "csv"; readonly form: Dialect["csv"] }
  | {
    /** One JSON value per line. */
    readonly kind: "ndjson";
    readonly stripped: boolean;
    /** False to send rows as soon as PostgreSQL has them. The number of rows and `response.*` of
     * the query are then unknown at the start of the response. */
    readonly isCounted: boolean;
  }
  | { readonly kind: "geojson" }
  | {
    /** A user-defined aggregate builds the body. */
    readonly kind: "aggregate";
    readonly function: QualifiedName;
    /** The relation whose row type the aggregate takes; null if it takes any row. */
    readonly over: QualifiedName | null;
    readonly binary: boolean;
  }
  /** The value of a function, without conversion. */
  | { readonly kind: "value"; readonly binary: boolean };

/** Options of EXPLAIN, for a body that holds the execution plan. */
export interface Explain {
  readonly format: "text" | "json";
  readonly options: readonly PlanOption[];
}

export interface Representation {
  readonly format: BodyFormat;
  readonly mediaType: MediaRange;
  /** Null to send the result in place of the execution plan. */
  readonly explain: Explain | null;
}

/** The input of {@linkcode negotiate}. */
interface Negotiation {
  /** Accepted media types in order of preference. */
  readonly accept: readonly MediaRange[];
  /** Whether `select` has all columns and no embeds, as handlers for rows of the target require. */
  readonly defaultSelect: boolean;
  readonly target: RepresentedTarget;
}

export type RepresentedTarget =
  | { readonly kind: "relation"; readonly relation: QualifiedName }
  | { readonly kind: "routine"; readonly routine: Routine };

/**
 * Returns the representation for the first accepted media type that the service can produce. Throws
 * 406 `107` if no type matches.
 *
 * For each type, the built-in vendor types come first. Then come the target's handler for any type,
 * its handler for the type, the handler for any rows, and the built-in type.
 */
export function negotiate(
  negotiation: Negotiation,
  cache: SchemaCache,
  { dbPlanEnabled, dialect }: Pick<Config, "dbPlanEnabled" | "dialect">,
): Representation {
  const handlers = handlersOf(negotiation, cache);
  for (const range of negotiation.accept) {
    const representation = range.kind === "plan"
      ? dbPlanEnabled ? explained(range, handlers, dialect.csv) : null
      : representationOf(range, handlers, dialect.csv);
    if (representation !== null) return representation;
  }
  throw errors.notAcceptable(negotiation.accept.map(canonicalText));
}

/** Finds a handler by a media type in lower case; null if it does not exist. */
type HandlerLookup = (mediaType: string) => Representation | null;

const noHandlers: HandlerLookup = () => null;

function handlersOf({ defaultSelect, target }: Negotiation, cache: SchemaCache): HandlerLookup {
  if (cache.data.mediaHandlers.length === 0) return noHandlers;
  const handlerFor = defaultSelect ? ownHandlers(target, cache) : () => undefined;
  const anything = handlerFor(anyType);
  return (mediaType) => {
    const handler = anything ?? handlerFor(mediaType) ?? cache.mediaHandler(null, mediaType);
    return handler === undefined ? null : handled(handler);
  };
}

const anyType = "*/*";

type OwnHandlers = (mediaType: string) => MediaHandler | undefined;

/** Returns a function that finds the target's handlers: aggregates over rows of the relation, or
 * the function itself. */
function ownHandlers(target: RepresentedTarget, cache: SchemaCache): OwnHandlers {
  if (target.kind === "relation") {
    return (mediaType) => cache.mediaHandler(target.relation, mediaType, "aggregate");
  }
  const { schema, name, returns } = target.routine;
  const rows = { schema, name: returns.typeName };
  if (returns.composite) return (mediaType) => cache.mediaHandler(rows, mediaType, "aggregate");
  return (mediaType) => {
    const handler = cache.mediaHandler({ schema, name }, mediaType, "function");
    // The handler belongs to one overload. It does not apply if this overload returns another type.
    return returns.set || handler?.mediaType !== returns.domain ? undefined : handler;
  };
}

function handled({ kind, target, handler, mediaType, binary }: MediaHandler): Representation {
  return {
    format: kind === "function"
      ? { kind: "value", binary }
      : { kind: "aggregate", function: handler, over: target, binary },
    mediaType: parseMediaType(mediaType),
    explain: null,
  };
}

type PlanRange = Extract<MediaRange, { readonly kind: "plan" }>;

function explained(
  range: PlanRange,
  handlers: HandlerLookup,
  csv: Dialect["csv"],
): Representation | null {
  const { of, format, options } = range;
  const representation = of.kind === "plan" ? null : representationOf(of, handlers, csv);
  return representation && {
    format: representation.format,
    mediaType: range,
    explain: { format, options },
  };
}

function representationOf(
  range: MediaRange,
  handlers: HandlerLookup,
  csv: Dialect["csv"],
): Representation | null {
  switch (range.kind) {
    case "singular":
      return built({ kind: "object", stripped: range.stripped }, range);
    case "strippedArray":
      return built({ kind: "array", stripped: true }, range);
    default:
      return handlers(canonicalText(range)) ?? builtIn(range, csv);
  }
}

const json: MediaRange = { kind: "json" };
const rows: Representation = built({ kind: "array", stripped: false }, json);

/** Returns the representation of a built-in type; null if none matches. */
function builtIn(range: MediaRange, csv: Dialect["csv"]): Representation | null {
  switch (range.kind) {
    case "any":
    case "json":
      return rows;
    case "csv":
      return built({ kind: "csv", form: csv }, range);
    case "ndjson":
      return built({ kind: "ndjson", stripped: range.stripped, isCounted: true }, range);
    case "geojson":
      return built({ kind: "geojson" }, range);
    default:
      return null;
  }
}

function built(format: BodyFormat, mediaType: MediaRange): Representation {
  return { format, mediaType, explain: null };
}

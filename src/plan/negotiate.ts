/**
 * Which representation a request gets: the first accepted media type that can be made.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import {
  canonicalText,
  type MediaRange,
  parseMediaType,
  type PlanOption,
} from "../http/media_type.ts";
import type {
  MediaHandler,
  QualifiedName,
  Routine,
  SchemaCache,
} from "../schema_cache/schema_cache.ts";

/** How the rows become a body. */
export type BodyFormat =
  | { readonly kind: "array"; readonly stripped: boolean }
  | { readonly kind: "object"; readonly stripped: boolean }
  | { readonly kind: "csv" }
  | { readonly kind: "geojson" }
  | {
    /** By an aggregate that the database defines. */
    readonly kind: "aggregate";
    readonly function: QualifiedName;
    /** The relation whose row type it takes; null for any row. */
    readonly over: QualifiedName | null;
    readonly binary: boolean;
  }
  /** The value of a function as it is. */
  | { readonly kind: "value"; readonly binary: boolean };

/** Asks for the execution plan in place of the body. */
export interface Explain {
  readonly format: "text" | "json";
  readonly options: readonly PlanOption[];
}

/** A representation: what the body is made by, and the media type it is sent as. */
export interface Representation {
  readonly format: BodyFormat;
  readonly mediaType: MediaRange;
  /** Null for the body itself. */
  readonly explain: Explain | null;
}

/** What is to be represented. */
export interface Negotiation {
  /** Most wanted first. */
  readonly accept: readonly MediaRange[];
  /** All columns and no embeds: only then handlers for the target's rows fit. */
  readonly defaultSelect: boolean;
  readonly target: RepresentedTarget;
}

/** Rows of a relation, or the result of a function. */
export type RepresentedTarget =
  | { readonly kind: "relation"; readonly relation: QualifiedName }
  | { readonly kind: "routine"; readonly routine: Routine };

/** The option that negotiation depends on. */
export interface NegotiationConfig {
  readonly dbPlanEnabled: boolean;
}

/**
 * Walks the accepted types. For each, built-in types of the vendor tree come first; then the target's
 * handler for anything, its handler for the type, the handler of any rows, and what is built in.
 * Raises 406 `107`.
 */
export function negotiate(
  negotiation: Negotiation,
  cache: SchemaCache,
  { dbPlanEnabled }: NegotiationConfig,
): Representation {
  const handlers = handlersOf(negotiation, cache);
  for (const range of negotiation.accept) {
    const representation = range.kind === "plan"
      ? dbPlanEnabled ? explained(range, handlers) : null
      : representationOf(range, handlers);
    if (representation !== null) return representation;
  }
  throw errors.notAcceptable(negotiation.accept.map(canonicalText));
}

/** Finds what the database defines for a media type in lower case. */
type HandlerLookup = (mediaType: string) => Representation | null;

const noHandlers: HandlerLookup = () => null;

function handlersOf({ defaultSelect, target }: Negotiation, cache: SchemaCache): HandlerLookup {
  if (cache.data.mediaHandlers.length === 0) return noHandlers;
  const own = defaultSelect ? ownHandlers(target, cache) : () => undefined;
  const anything = own(anyType);
  return (mediaType) => {
    const handler = anything ?? own(mediaType) ?? cache.mediaHandler(null, mediaType);
    return handler === undefined ? null : handled(handler);
  };
}

const anyType = "*/*";

type OwnHandlers = (mediaType: string) => MediaHandler | undefined;

/** Handlers of a target: aggregates over rows of the relation, or the function itself. */
function ownHandlers(target: RepresentedTarget, cache: SchemaCache): OwnHandlers {
  if (target.kind === "relation") {
    return (mediaType) => cache.mediaHandler(target.relation, mediaType, "aggregate");
  }
  const { schema, name, returns } = target.routine;
  const rows = { schema, name: returns.typeName };
  if (returns.composite) return (mediaType) => cache.mediaHandler(rows, mediaType, "aggregate");
  return (mediaType) => {
    const handler = cache.mediaHandler({ schema, name }, mediaType, "function");
    // An overload may return something else.
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

function explained(range: PlanRange, handlers: HandlerLookup): Representation | null {
  const { of, format, options } = range;
  const representation = of.kind === "plan" ? null : representationOf(of, handlers);
  return representation && {
    format: representation.format,
    mediaType: range,
    explain: { format, options },
  };
}

function representationOf(range: MediaRange, handlers: HandlerLookup): Representation | null {
  switch (range.kind) {
    case "singular":
      return built({ kind: "object", stripped: range.stripped }, range);
    case "strippedArray":
      return built({ kind: "array", stripped: true }, range);
    default:
      return handlers(canonicalText(range)) ?? builtIn(range);
  }
}

const json: MediaRange = { kind: "json" };
const rows: Representation = built({ kind: "array", stripped: false }, json);

/** What any rows can be made into without the database's help. */
function builtIn(range: MediaRange): Representation | null {
  switch (range.kind) {
    case "any":
    case "json":
      return rows;
    case "csv":
      return built({ kind: "csv" }, range);
    case "geojson":
      return built({ kind: "geojson" }, range);
    default:
      return null;
  }
}

function built(format: BodyFormat, mediaType: MediaRange): Representation {
  return { format, mediaType, explain: null };
}

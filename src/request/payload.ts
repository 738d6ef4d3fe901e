/**
 * The request body, understood by its content type.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { canonicalText, type MediaRange, parseMediaType } from "../http/media_type.ts";
import type { Action } from "./api_request.ts";
import type { BodyDecoder, OnKeys, PayloadUse } from "./body_decoder.ts";
import {
  ColumnsJsonDecoder,
  CsvDecoder,
  FormArgumentsDecoder,
  FormDecoder,
  JsonDecoder,
  RawDecoder,
} from "./decoders.ts";
import { NdjsonDecoder } from "./ndjson.ts";
import type { QueryParams } from "./query_types.ts";

/** How a body is to be read. */
export interface PayloadParts {
  /** The `Content-Type` header; null when absent, which is JSON. */
  readonly contentType: string | null;
  readonly takes: PayloadUse;
  /** The columns are named in the query string, so that JSON is left to PostgreSQL. */
  readonly columnsGiven: boolean;
}

/** What an action does with a body; null when it does not look at it. */
export function payloadUse(action: Action): PayloadUse | null {
  switch (action.kind) {
    case "insert":
    case "update":
    case "put":
      return "rows";
    case "call":
      return action.method === "POST" ? "arguments" : null;
    case "read":
    case "delete":
    case "root":
    case "options":
      return null;
    default:
      return action satisfies never;
  }
}

/** Whether JSON is written as the query string's `columns` say; PUT does not look at them. */
export function usesColumns(action: Action, { columns }: QueryParams): boolean {
  return columns !== null && action.kind !== "put";
}

/** What a content type says that a body is; `raw` is the value of a single unnamed parameter. */
export type PayloadFormat = "json" | "csv" | "form" | "raw";

/** Reads bodies of a content type. */
export interface PayloadReader {
  readonly format: PayloadFormat;
  /** Begins to decode one body. */
  readonly begin: (onKeys: OnKeys) => BodyDecoder;
}

type Begin = (parts: PayloadParts, onKeys: OnKeys) => BodyDecoder;

type ReadersByMedia = Partial<
  Record<MediaRange["kind"], readonly [format: PayloadFormat, begin: Begin]>
>;

const readers: ReadersByMedia = {
  json: ["json", beginJson],
  ndjson: [
    "json",
    ({ takes, columnsGiven }, onKeys) => new NdjsonDecoder({ takes, columnsGiven, onKeys }),
  ],
  csv: ["csv", ({ takes }, onKeys) => new CsvDecoder(takes, onKeys)],
  form: ["form", beginForm],
};

const argumentReaders: ReadersByMedia = {
  ...readers,
  text: ["raw", () => new RawDecoder("text")],
  xml: ["raw", () => new RawDecoder("xml")],
  octets: ["raw", () => new RawDecoder("bytea")],
};

/**
 * Finds the reader for a content type, so that one that is not accepted is refused before the body
 * is received. Throws `107`.
 */
export function payloadReader(parts: PayloadParts): PayloadReader {
  const contentType = parts.contentType?.trim() || "application/json";
  const media = parseMediaType(contentType);
  const reader = (parts.takes === "rows" ? readers : argumentReaders)[media.kind];
  if (reader === undefined) throw errors.unsupportedContentType(canonicalText(media));
  const [format, begin] = reader;
  return { format, begin: (onKeys) => begin(parts, onKeys) };
}

function beginForm({ takes }: PayloadParts, onKeys: OnKeys): BodyDecoder {
  return takes === "rows" ? new FormDecoder(onKeys) : new FormArgumentsDecoder();
}

function beginJson({ takes, columnsGiven }: PayloadParts, onKeys: OnKeys): BodyDecoder {
  return columnsGiven ? new ColumnsJsonDecoder(takes) : new JsonDecoder(takes, onKeys);
}

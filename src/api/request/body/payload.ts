/** Chooses the decoder of a request body by its content type. @module */
import type { Dialect } from "../../../base/dialect.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import { canonicalText, type MediaRange, parseMediaType } from "../../../base/http/media_type.ts";
import type { BodyDecoder, OnKeys, PayloadUse } from "./body_decoder.ts";
import { itemsOf, takesKeys } from "../url/columns_param.ts";
import { CsvDecoder } from "./csv.ts";
import {
  ColumnsJsonDecoder,
  type DecoderOptions,
  JsonDecoder,
  patchDecoder,
  RawDecoder,
} from "./decoders.ts";
import { JsonRowsScan } from "./json_rows.ts";
import { FormDecoder } from "./form.ts";
import { NdjsonDecoder } from "./ndjson.ts";
import type { QueryParams } from "../url/query_types.ts";
import type { Action } from "../action.ts";

export interface PayloadParts {
  /** The `Content-Type` header. Null if it is absent; the body is then JSON. */
  readonly contentType: string | null;
  readonly takes: PayloadUse;
  /** How NULL is written in CSV. Default: `exact`. */
  readonly csv?: Dialect["csv"];
  /** Whether the query string names the columns. PostgreSQL then parses the JSON. */
  readonly columnsGiven: boolean;
  /** Whether rows may have different keys, which are all collected. Default: false. */
  readonly keysMayVary?: boolean;
  /** Whether the body may be a patch document. Default: false. */
  readonly mayPatch?: boolean;
}

/** Returns how an action uses its body; null if it ignores the body. */
export function payloadUse(action: Action): PayloadUse | null {
  switch (action.kind) {
    case "insert":
    case "update":
    case "put":
      return "rows";
    case "call":
      return hasArgumentsInBody(action) ? "arguments" : null;
    case "read":
    case "delete":
    case "root":
    case "options":
      return null;
    default:
      return action satisfies never;
  }
}

/** Returns whether the arguments of a call are in its body. */
export function hasArgumentsInBody({ method }: Extract<Action, { kind: "call" }>): boolean {
  return method === "POST" || method === "QUERY";
}

/** Returns whether `columns` names the columns to write. PUT ignores it; `*` means the keys of the
 * body. */
export function usesColumns(action: Action, { columns, columnTree }: QueryParams): boolean {
  return columns !== null && action.kind !== "put" && !takesKeys(itemsOf(columnTree));
}

/** Returns whether rows of a body may have different keys. */
export function mayKeysVary({ on, columnTree }: QueryParams): boolean {
  const items = itemsOf(columnTree);
  return on !== null || takesKeys(items) && items.some(({ kind }) => kind === "nested");
}

/** Format of a body. `raw` is the value of a single unnamed parameter. */
export type PayloadFormat = "json" | "csv" | "form" | "raw";

export interface PayloadReader {
  readonly format: PayloadFormat;
  /**
   * Whether the body belongs to a query request, which has a separate size limit. Default: false.
   */
  readonly isQuery?: true;
  readonly begin: (onKeys: OnKeys, options?: DecoderOptions) => BodyDecoder;
}

type Begin = (parts: PayloadParts, onKeys: OnKeys, options: DecoderOptions) => BodyDecoder;

const notCut: DecoderOptions = { isCut: false };

type ReadersByMedia = Partial<
  Record<MediaRange["kind"], readonly [format: PayloadFormat, begin: Begin]>
>;

const readers: ReadersByMedia = {
  json: ["json", beginJson],
  ndjson: ["json", (parts, onKeys) => new NdjsonDecoder({ ...parts, onKeys })],
  csv: ["csv", ({ takes, csv }, onKeys) => new CsvDecoder(takes, onKeys, csv)],
  form: ["form", ({ takes }) => new FormDecoder(takes)],
};

const argumentReaders: ReadersByMedia = {
  ...readers,
  text: ["raw", () => new RawDecoder("text")],
  xml: ["raw", () => new RawDecoder("xml")],
  octets: ["raw", () => new RawDecoder("bytea")],
};

const patchReaders: ReadersByMedia = {
  ...readers,
  mergePatch: ["json", () => patchDecoder("merge")],
  jsonPatch: ["json", () => patchDecoder("json")],
  vendorPatch: ["json", () => patchDecoder("extended")],
};

/**
 * Returns the reader of a body. Throws `107` for an unsupported type, before the body is received.
 */
export function payloadReader(parts: PayloadParts): PayloadReader {
  const contentType = parts.contentType?.trim() || "application/json";
  const media = parseMediaType(contentType);
  const reader = readersOf(parts)[media.kind];
  if (reader === undefined) {
    throw errors.unsupportedContentType(canonicalText(media), parts.mayPatch === true);
  }
  const [format, begin] = reader;
  return { format, begin: (onKeys, options = notCut) => begin(parts, onKeys, options) };
}

function readersOf({ takes, mayPatch }: PayloadParts): ReadersByMedia {
  if (takes === "arguments") return argumentReaders;
  return mayPatch === true ? patchReaders : readers;
}

function beginJson(
  { takes, columnsGiven, keysMayVary = false }: PayloadParts,
  onKeys: OnKeys,
  options: DecoderOptions,
): BodyDecoder {
  return columnsGiven
    ? new ColumnsJsonDecoder(takes, options)
    : new JsonDecoder(takes, onKeys, new JsonRowsScan({ keysMayVary }));
}

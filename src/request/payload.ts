/**
 * The request body, understood by its content type.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { canonicalText, type MediaRange, parseMediaType } from "../http/media_type.ts";
import type { Action, Payload } from "./api_request.ts";
import { csvRows, readCsv } from "./csv.ts";
import { readForm } from "./form.ts";
import { beginsAsObject, type JsonRows, readJsonRows, readJsonRowsInSlices } from "./json_rows.ts";
import type { QueryParams } from "./query_types.ts";

/** How a body is to be read. */
export interface PayloadParts {
  /** The `Content-Type` header; null when absent, which is JSON. */
  readonly contentType: string | null;
  readonly takes: PayloadUse;
  /** The columns are named in the query string, so that JSON is left to PostgreSQL. */
  readonly columnsGiven: boolean;
}

/** What the body is for. */
export type PayloadUse = "rows" | "arguments";

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

type Reader = (body: Uint8Array, parts: PayloadParts) => Payload;

const readers: Partial<Record<MediaRange["kind"], Reader>> = {
  json: readJson,
  csv: readLines,
  form: readFields,
};

const argumentReaders: typeof readers = {
  ...readers,
  text: (body) => ({ kind: "raw", type: "text", bytes: checkText(body) }),
  xml: (body) => ({ kind: "raw", type: "xml", bytes: checkText(body) }),
  octets: (bytes) => ({ kind: "raw", type: "bytea", bytes }),
};

/**
 * Finds the reader for a content type, so that one that is not accepted is refused before the body
 * is received. Raises `107`.
 */
export function payloadReader(parts: PayloadParts): (body: Uint8Array) => Payload {
  const media = mediaOf(parts);
  const reader = (parts.takes === "rows" ? readers : argumentReaders)[media.kind];
  if (reader === undefined) throw errors.unsupportedContentType(canonicalText(media));
  return (body) => reader(body, parts);
}

/** JSON of more bytes is looked through in slices. */
const longJson = 2 * 1024 * 1024;

/**
 * Reads a body like {@linkcode payloadReader}, but lets others work in between when there is much to
 * look through.
 */
export function patientPayloadReader(
  parts: PayloadParts,
): (body: Uint8Array) => Payload | Promise<Payload> {
  const read = payloadReader(parts);
  const looksThrough = mediaOf(parts).kind === "json" && !parts.columnsGiven;
  return (body) => looksThrough && body.length > longJson ? readLongJson(body) : read(body);
}

async function readLongJson(body: Uint8Array): Promise<Payload> {
  const bytes = withoutMark(body);
  return rowsPayload(await readJsonRowsInSlices(bytes, turn), bytes);
}

/** Lets the event loop go round once. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** The format of a body that {@linkcode payloadReader} accepts. */
export function payloadFormat(parts: PayloadParts): PayloadFormat {
  const { kind } = mediaOf(parts);
  return kind === "json" || kind === "csv" || kind === "form" ? kind : "raw";
}

function mediaOf({ contentType }: PayloadParts): MediaRange {
  return parseMediaType(contentType?.trim() || "application/json");
}

const ascii = new TextEncoder();
const noRows = ascii.encode("[]");
const noArguments = ascii.encode("{}");
const json = { kind: "json", source: "json" } as const;

/** Raises `102` unless the body is an object, objects of the same keys, `[]` or a scalar. */
function readJson(body: Uint8Array, { takes, columnsGiven }: PayloadParts): Payload {
  const sent = withoutMark(body);
  const bytes = sent.length === 0 && takes === "arguments" ? noArguments : sent;
  if (columnsGiven) {
    const shape = beginsAsObject(bytes) ? "object" : "array";
    return { ...json, text: bytes, shape, keys: null, raw: bytes };
  }
  return rowsPayload(readJsonRows(bytes), bytes);
}

function rowsPayload(rows: JsonRows, bytes: Uint8Array): Payload {
  switch (rows.kind) {
    case "malformed":
      throw errors.invalidBody("Empty or invalid json");
    case "mixed":
      throw errors.invalidBody("All object keys must match");
    case "none":
      return { ...json, text: noRows, shape: "array", keys: [], raw: noRows };
    case "rows":
      return { ...json, text: bytes, shape: rows.shape, keys: rows.keys, raw: bytes };
    default:
      return rows satisfies never;
  }
}

/** Raises `102` when the body is no CSV or its lines differ. */
function readLines(raw: Uint8Array): Payload {
  const read = readCsv(decodeText(raw));
  if (read.kind === "problem") throw errors.invalidBody(read.message);
  const rows = csvRows(read.lines);
  if (rows === null) throw errors.invalidBody("All lines must have same number of fields");
  const { json: text, keys } = rows;
  return { kind: "json", source: "csv", text, shape: "array", keys, raw };
}

function readFields(body: Uint8Array): Payload {
  const fields = readForm(decodeText(body));
  if (fields === null) throw errors.invalidBody("Form fields must be UTF-8 text without NUL");
  return { kind: "form", fields };
}

/** The text of a body, without a byte order mark. Raises `102`. */
function decodeText(body: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw errors.invalidBody("The body is not UTF-8 text");
  }
  if (text.includes("\0")) throw errors.invalidBody("The body holds the character NUL");
  return text;
}

function checkText(body: Uint8Array): Uint8Array {
  decodeText(body);
  return body;
}

function withoutMark(body: Uint8Array): Uint8Array {
  const marked = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return marked ? body.subarray(3) : body;
}

/**
 * Reads the document of a batch, the body of `POST /`.
 *
 * @module
 */
import type { IsolationLevel } from "../database/batch.ts";
import { errors } from "../errors/catalogue.ts";
import { headerValue, isHeaderName } from "../errors/http_text.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { parseAccept } from "../http/accept.ts";
import { parseMediaType } from "../http/media_type.ts";
import { isJsonObject, type JsonObject } from "../lib/json_object.ts";
import { rawElements, rawMembers, rawValue, type TextRange } from "./raw_json.ts";

/** One operation of a batch, as it was sent. */
export interface BatchOperation {
  readonly index: number;
  readonly id: string;
  readonly method: string;
  /** As sent. */
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: Uint8Array | null;
  /** Sources by target. */
  readonly refs: readonly (readonly [target: string, source: string])[];
}

export interface BatchDocument {
  /** Null to leave it to the role and the functions. */
  readonly isolation: IsolationLevel | null;
  readonly operations: readonly BatchOperation[];
}

/**
 * Reads a document. Throws `140` with a JSON Pointer (RFC 6901) to the first member that is malformed, and
 * `141` for more operations than are allowed.
 */
export function parseBatchDocument(
  bytes: Uint8Array,
  { maxOperations }: { readonly maxOperations: number },
): BatchDocument {
  const text = utf8.decode(bytes);
  const document = parse(text);
  if (!isJsonObject(document)) throw malformed([], "expected a JSON object");
  checkMembers(document, [], ["isolation", "requests"]);
  const { isolation, requests } = document;
  if (!Array.isArray(requests)) throw malformed(["requests"], "expected an array");
  if (requests.length > maxOperations) {
    throw errors.batchTooLarge("operations", maxOperations, requests.length);
  }
  const ranges = rawElements(text, rawMembers(text, rawValue(text)).get("requests")!);
  const operations: BatchOperation[] = [];
  const ids = new Set<string>();
  requests.forEach((request: unknown, index) => {
    const operation = readOperation(request, { index, ids, text, range: ranges[index]! });
    ids.add(operation.id);
    operations.push(operation);
  });
  return { isolation: readIsolation(isolation), operations };
}

const utf8 = new TextDecoder();
const encoder = new TextEncoder();

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed([], "expected JSON");
  }
}

type Path = readonly (string | number)[];

/** Returns the error of a malformed member. */
function malformed(path: Path, expected: string): ServiceError {
  const segments = path.map((segment) =>
    `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`
  );
  return errors.invalidBatch(path.length === 0 ? "The document" : segments.join(""), expected);
}

function checkMembers(object: JsonObject, path: Path, known: readonly string[]): void {
  const unknown = Object.keys(object).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw malformed([...path, unknown], `expected one of ${known.join(", ")}`);
}

const isolations: readonly IsolationLevel[] = ["read committed", "repeatable read", "serializable"];

function readIsolation(value: unknown): IsolationLevel | null {
  if (value === undefined) return null;
  const found = isolations.find((isolation) => isolation === value);
  if (found === undefined) throw malformed(["isolation"], `expected ${listed(isolations)}`);
  return found;
}

/** `"a", "b" or "c"` */
function listed(words: readonly string[]): string {
  const quoted = words.map((word) => `"${word}"`);
  return `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}

/** Where an operation stands. */
interface OperationPlace {
  readonly index: number;
  /** Ids of the operations before. */
  readonly ids: ReadonlySet<string>;
  readonly text: string;
  readonly range: TextRange;
}

const operationMembers = ["id", "method", "url", "headers", "body", "dependsOn", "refs"];
const methods = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"];

function readOperation(request: unknown, place: OperationPlace): BatchOperation {
  const { index, ids } = place;
  const path = ["requests", index];
  if (!isJsonObject(request)) throw malformed(path, "expected an object");
  checkMembers(request, path, operationMembers);
  const { id = String(index), method, url } = request;
  if (typeof id !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
    throw malformed([...path, "id"], "expected 1 to 64 letters, digits, '_' and '-'");
  }
  if (ids.has(id)) throw malformed([...path, "id"], "expected an id that no other operation has");
  if (typeof method !== "string" || !methods.includes(method)) {
    throw malformed([...path, "method"], `expected ${listed(methods)}`);
  }
  if (typeof url !== "string" || !isOperationUrl(url)) {
    throw malformed([...path, "url"], "expected '/' and a relation, or '/rpc/' and a function");
  }
  const headers = readHeaders(request["headers"], [...path, "headers"]);
  checkDependencies(request["dependsOn"], ids, [...path, "dependsOn"]);
  const refs = readRefs(request["refs"], [...path, "refs"]);
  return { index, id, method, url, headers, refs, body: readBody(request, headers, place) };
}

function isOperationUrl(url: string): boolean {
  return /^\/[^?#/][^#]*$/.test(url) && url.isWellFormed();
}

/** Headers that belong to the batch: its token, its key, its frame. */
const headersOfBatch: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "cookie",
  "host",
  "idempotency-key",
  "origin",
  "transfer-encoding",
]);

function readHeaders(value: unknown, path: Path): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (!isJsonObject(value)) throw malformed(path, "expected an object");
  const headers = new Map<string, string>();
  for (const [name, text] of Object.entries(value)) {
    const at = [...path, name];
    const lower = name.toLowerCase();
    if (!isHeaderName(name) || lower === "__proto__" || headers.has(lower)) {
      throw malformed(at, "expected the name of a header, once");
    }
    if (headersOfBatch.has(lower)) throw malformed(at, "expected in the header of the batch only");
    if (typeof text !== "string" || headerValue(text) === null || !text.isWellFormed()) {
      throw malformed(at, "expected a string without control characters");
    }
    if (lower === "accept" && parseAccept(text).some(({ kind }) => kind === "plan")) {
      throw malformed(at, "expected no execution plan");
    }
    headers.set(lower, text.trim());
  }
  return Object.fromEntries(headers);
}

function checkDependencies(value: unknown, ids: ReadonlySet<string>, path: Path): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) throw malformed(path, "expected an array");
  const other = value.findIndex((id) => !ids.has(id));
  if (other >= 0) throw malformed([...path, other], "expected the id of an earlier operation");
}

/** Each reference costs a pass over the URL, or an argument of `concat`, which has 100 at most. */
const maxRefs = 30;

function readRefs(value: unknown, path: Path): BatchOperation["refs"] {
  if (value === undefined) return [];
  if (!isJsonObject(value)) throw malformed(path, "expected an object");
  const entries = Object.entries(value);
  if (entries.length > maxRefs) throw malformed(path, `expected at most ${maxRefs} references`);
  return entries.map(([target, source]) => {
    if (typeof source !== "string") throw malformed([...path, target], "expected a string");
    return [target, source];
  });
}

/** Returns JSON as it is in the document, and other bodies as the bytes of their string. */
function readBody(
  request: JsonObject,
  headers: Readonly<Record<string, string>>,
  { index, text, range }: OperationPlace,
): Uint8Array | null {
  const { body } = request;
  if (body === undefined) return null;
  const { kind } = parseMediaType(headers["content-type"]?.trim() || "application/json");
  if (jsonKinds.has(kind)) {
    const { start, end } = rawMembers(text, range).get("body")!;
    return encoder.encode(text.slice(start, end));
  }
  const path = ["requests", index, "body"];
  if (typeof body !== "string" || !body.isWellFormed()) throw malformed(path, "expected a string");
  return kind === "octets" ? decodeBase64url(body, path) : encoder.encode(body);
}

const jsonKinds: ReadonlySet<string> = new Set(["json", "mergePatch", "jsonPatch", "vendorPatch"]);

function decodeBase64url(text: string, path: Path): Uint8Array {
  const unpadded = text.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9_-]*$/.test(unpadded) || unpadded.length % 4 === 1) {
    throw malformed(path, "expected base64url");
  }
  const binary = atob(unpadded.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

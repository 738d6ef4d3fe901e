/** Reads the document of a batch, the body of `POST /`. @module */
import { base64url } from "jose";
import type { IsolationLevel } from "../../../database/transaction.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import { headerValue, isHeaderName } from "../../../base/errors/http_text.ts";
import type { ServiceError } from "../../../base/errors/service_error.ts";
import { parseAccept } from "../../../base/http/accept.ts";
import { parseMediaType } from "../../../base/http/media_type.ts";
import { turn } from "../../../base/lib/timers.ts";
import type { BodyDecoder } from "../../request/body/body_decoder.ts";
import { DocumentDecoder } from "../../request/body/decoders.ts";
import { JsonOutline } from "../../request/body/json_outline.ts";
import { isolationLevels } from "../../transaction/script.ts";

/** One operation of a batch, as it was sent. */
export interface BatchOperation {
  readonly index: number;
  readonly id: string;
  readonly method: string;
  /** The URL as sent. */
  readonly url: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: Uint8Array | null;
  /** The references: for each target, the source of its value. */
  readonly refs: readonly (readonly [target: string, source: string])[];
}

export interface BatchDocument {
  /** Null if the role and the functions decide. */
  readonly isolation: IsolationLevel | null;
  readonly operations: readonly BatchOperation[];
}

/** Returns the decoder of batch documents up to a size. Throws `140` if the body is not JSON. */
export function batchDocumentDecoder(maxBytes: number): BodyDecoder {
  return new DocumentDecoder({
    maxBytes,
    tooLarge: () => errors.batchTooLarge("document", maxBytes),
    malformed: (problem) => malformed([], `expected JSON: ${problem}`),
    payload: (bytes) => ({ kind: "raw", type: "text", bytes }),
  });
}

/** Bytes of operations that are parsed between two pauses. To parse them takes some milliseconds. */
const bytesPerTurn = 1024 * 1024;

/** Parses a document from JSON. Throws `140` with a JSON Pointer (RFC 6901) to the first malformed
 * member, and `141` for the first operation that is not allowed. */
export async function parseBatchDocument(
  text: Uint8Array,
  { maxOperations }: { readonly maxOperations: number },
): Promise<BatchDocument> {
  const outline = new JsonOutline(text);
  if (outline.kind !== "object") throw malformed([], "expected a JSON object");
  let isolation: IsolationLevel | null = null;
  let operations: readonly BatchOperation[] | null = null;
  // If several members have the same name, the last one applies.
  for (const name of outline.members()) {
    if (name === "isolation") isolation = readIsolation(outline.string());
    else if (name === "requests") operations = await readOperations(outline, maxOperations);
    else throw malformed([name], "expected one of isolation, requests");
  }
  if (operations === null) throw malformed(["requests"], "expected an array");
  return { isolation, operations };
}

async function readOperations(
  outline: JsonOutline,
  maxOperations: number,
): Promise<readonly BatchOperation[]> {
  if (outline.kind !== "array") throw malformed(["requests"], "expected an array");
  const operations: BatchOperation[] = [];
  const ids = new Set<string>();
  let unpaused = 0;
  for (const index of outline.elements()) {
    if (index === maxOperations) throw errors.batchTooLarge("operations", maxOperations);
    const bytes = outline.skip();
    const operation = readOperation(bytes, index, ids);
    ids.add(operation.id);
    operations.push(operation);
    unpaused += bytes.length;
    if (unpaused < bytesPerTurn) continue;
    unpaused = 0;
    await turn();
  }
  return operations;
}

const encoder = new TextEncoder();

/** Returns the texts of an object's members. If a name is repeated, the last member applies. */
function readMembers<const Name extends string>(
  text: Uint8Array,
  path: Path,
  known: readonly Name[],
): Readonly<Partial<Record<Name, Uint8Array>>> {
  const outline = new JsonOutline(text);
  if (outline.kind !== "object") throw malformed(path, "expected an object");
  const members: Partial<Record<Name, Uint8Array>> = {};
  for (const member of outline.members()) {
    const name = known.find((each) => each === member);
    if (name === undefined) {
      throw malformed([...path, member], `expected one of ${known.join(", ")}`);
    }
    members[name] = outline.skip();
  }
  return members;
}

/** Returns a string; null for other values, undefined if it is absent. */
function stringOf(text: Uint8Array | undefined): string | null | undefined {
  return text === undefined ? undefined : new JsonOutline(text).string();
}

type Path = readonly (string | number)[];

/** Returns the error for a malformed member. */
function malformed(path: Path, expected: string): ServiceError {
  const segments = path.map((segment) =>
    `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`
  );
  return errors.invalidBatch(path.length === 0 ? "The document" : segments.join(""), expected);
}

function readIsolation(value: string | null): IsolationLevel {
  const found = isolationLevels.find((isolation) => isolation === value);
  if (found === undefined) throw malformed(["isolation"], `expected ${listed(isolationLevels)}`);
  return found;
}

/** `"a", "b" or "c"` */
function listed(words: readonly string[]): string {
  const quoted = words.map((word) => `"${word}"`);
  return `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}

const operationMembers = ["id", "method", "url", "headers", "body", "refs"] as const;
const methods = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"];

/** Reads one operation. `ids` are the names of earlier operations. */
function readOperation(
  text: Uint8Array,
  index: number,
  ids: ReadonlySet<string>,
): BatchOperation {
  const path = ["requests", index];
  const members = readMembers(text, path, operationMembers);
  const id = members.id === undefined ? String(index) : stringOf(members.id);
  if (typeof id !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
    throw malformed([...path, "id"], "expected 1 to 64 letters, digits, '_' and '-'");
  }
  if (ids.has(id)) throw malformed([...path, "id"], "expected an id that no other operation has");
  const method = stringOf(members.method);
  if (typeof method !== "string" || !methods.includes(method)) {
    throw malformed([...path, "method"], `expected ${listed(methods)}`);
  }
  const url = stringOf(members.url);
  if (typeof url !== "string" || !isOperationUrl(url)) {
    throw malformed([...path, "url"], "expected '/' and a relation, or '/rpc/' and a function");
  }
  if (url.length > maxUrlLength) {
    throw malformed([...path, "url"], `expected at most ${maxUrlLength} characters`);
  }
  const headers = readHeaders(members.headers, [...path, "headers"]);
  const refs = readRefs(members.refs, [...path, "refs"]);
  const body = readBody(members.body, headers, [...path, "body"]);
  return { index, id, method, url, headers, refs, body };
}

/** Maximum length of a URL, as of a request line. The time to plan a query grows with its length. */
const maxUrlLength = 64 * 1024;

function isOperationUrl(url: string): boolean {
  return /^\/[^?#/][^#]*$/.test(url) && url.isWellFormed();
}

/** Headers that an operation may have. Headers such as `X-Forwarded-For` are excluded, because a
 * proxy sets them for the batch. */
const headersOfOperation =
  /^(?:accept|(?:accept|content)-profile|content-type|if-(?:none-)?match|prefer|range(?:-unit)?)$/;

/** Preferences of the transaction, which all operations share. */
const preferencesOfTransaction = /(?:^|,)\s*(?:tx|timezone)\s*=/i;

/** Maximum number of headers. Runtimes accept about as many in a request. */
const maxHeaders = 100;

function readHeaders(
  object: Uint8Array | undefined,
  path: Path,
): Readonly<Record<string, string>> {
  if (object === undefined) return {};
  const headers = new Map<string, string>();
  for (const [name, text] of entriesOf(object, path, maxHeaders)) {
    const at = [...path, name];
    const lower = name.toLowerCase();
    if (!isHeaderName(name) || headers.has(lower)) {
      throw malformed(at, "expected the name of a header, once");
    }
    if (!headersOfOperation.test(lower)) {
      throw malformed(at, "expected in the header of the batch only");
    }
    if (typeof text !== "string" || headerValue(text) === null || !text.isWellFormed()) {
      throw malformed(at, "expected a string without control characters");
    }
    if (lower === "prefer" && preferencesOfTransaction.test(text)) {
      throw malformed(at, "expected tx and timezone in the header of the batch only");
    }
    if (lower === "accept" && parseAccept(text).some(({ kind }) => kind === "plan")) {
      throw malformed(at, "expected no execution plan");
    }
    headers.set(lower, text.trim());
  }
  return Object.fromEntries(headers);
}

/** Yields the members of an object of strings. A null value means that it is not a string. Throws
 * `140` for more than `max` members. */
function* entriesOf(
  object: Uint8Array,
  path: Path,
  max: number,
): Generator<readonly [name: string, value: string | null]> {
  const outline = new JsonOutline(object);
  if (outline.kind !== "object") throw malformed(path, "expected an object");
  let count = 0;
  for (const name of outline.members()) {
    if (++count > max) throw malformed(path, `expected at most ${max} members`);
    yield [name, outline.string()];
  }
}

/** Maximum number of references. Each is an argument of `concat`, which accepts at most 100. */
const maxRefs = 30;

function readRefs(object: Uint8Array | undefined, path: Path): BatchOperation["refs"] {
  if (object === undefined) return [];
  return Array.from(entriesOf(object, path, maxRefs), ([target, source]) => {
    if (source === null) throw malformed([...path, target], "expected a string");
    return [target, source];
  });
}

/** Returns a JSON body as it is in the document, and other bodies as the bytes of their string. */
function readBody(
  text: Uint8Array | undefined,
  headers: Readonly<Record<string, string>>,
  path: Path,
): Uint8Array | null {
  if (text === undefined) return null;
  const { kind } = parseMediaType(headers["content-type"]?.trim() || "application/json");
  if (jsonKinds.has(kind)) return text;
  const body = stringOf(text);
  if (typeof body !== "string" || !body.isWellFormed()) throw malformed(path, "expected a string");
  return kind === "octets" ? decodeBase64url(body, path) : encoder.encode(body);
}

const jsonKinds: ReadonlySet<string> = new Set(["json", "mergePatch", "jsonPatch", "vendorPatch"]);

function decodeBase64url(text: string, path: Path): Uint8Array {
  const unpadded = text.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9_-]*$/.test(unpadded) || unpadded.length % 4 === 1) {
    throw malformed(path, "expected base64url");
  }
  return base64url.decode(unpadded);
}

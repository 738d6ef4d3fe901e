/** Codecs of the values that may be in a separate file (`@path`): the connection string, and the
 * secret that verifies tokens. Messages omit both. @module */
import { parseJsonObject } from "../../base/lib/json_object.ts";
import { parseConnectionString } from "../../database/connect/connection_string.ts";
import {
  accept,
  type Codec,
  type CodecContext,
  type CodecResult,
  quote,
  reject,
  type TextFormat,
} from "./codecs.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

const uriFormat = {
  type: "text or `@file`",
  expected: 'a connection string such as "postgres://user:password@host:5432/database", ' +
    '"host=… dbname=…" or "pglite://memory"',
  confidential: true,
};

/** Returns the codec of texts that may be in a separate file. The text of the file is trimmed. */
export function textOrFile<Value>(
  { format, parse, print }: {
    readonly format: TextFormat;
    readonly parse: (text: string, context: CodecContext) => CodecResult<Value>;
    readonly print: Codec<Value>["print"];
  },
): Codec<Value> {
  return {
    type: format.type,
    readsFiles: true,
    read(raw, context) {
      if (typeof raw !== "string") return reject(raw, format);
      if (!raw.startsWith("@")) return parse(raw, context);
      const content = readNamedFile(raw.slice(1), context.readFile);
      if (content.kind !== "value") return content;
      return parse(new TextDecoder().decode(content.value).trim(), context);
    },
    print,
  };
}

export const connectionString = textOrFile({
  format: uriFormat,
  parse: checkConnection,
  print: quote,
});

const notEncoded = "has a special character that is not percent-encoded; write % as %25 and a " +
  "space as %20";

/** The codec of connection strings of PostgreSQL servers. */
export const serverConnectionString: Codec<string> = {
  ...connectionString,
  read(raw, context) {
    const read = connectionString.read(raw, context);
    if (read.kind !== "value" || !read.value.startsWith("pglite://")) return read;
    return reject(read.value, uriFormat, "must name a PostgreSQL server");
  },
};

function checkConnection(value: string): CodecResult<string> {
  if (/\p{Cc}/u.test(value)) {
    return reject(value, uriFormat, "must not contain line breaks or other control characters");
  }
  if (value.startsWith("pglite://")) return accept(value);
  if (/^postgres(?:ql)?:\/\//.test(value)) {
    const isEncoded = !/%(?![0-9A-Fa-f]{2})|\s/.test(value);
    return isEncoded ? checkOptions(value) : reject(value, uriFormat, notEncoded);
  }
  return /^\s*[a-z_]+\s*=/.test(value) ? checkOptions(value) : reject(value, uriFormat);
}

function checkOptions(value: string): CodecResult<string> {
  try {
    parseConnectionString(value);
    return accept(value);
  } catch (error) {
    return reject(value, uriFormat, error instanceof Error ? error.message : undefined);
  }
}

/** Minimum size of secrets for HS256 (RFC 7518, section 3.2). */
export const minSecretBytes = 32;

const secretFormat = {
  type: "text or `@file`",
  expected: `text in quotes of at least ${minSecretBytes} bytes, a JSON Web Key (set), ` +
    'or "@" and the path of a file with it',
  confidential: true,
};

/** The codec of the token secret. The final line feed of a file is removed. With
 * `jwt-secret-is-base64`, the value is decoded: standard or URL alphabet, padded by `=` or `.`. */
export const tokenSecret: Codec<Uint8Array> = {
  type: secretFormat.type,
  readsFiles: true,
  read(raw, { readFile, secretIsBase64 }) {
    if (typeof raw !== "string") return reject(raw, secretFormat);
    const content = raw.startsWith("@")
      ? readNamedFile(raw.slice(1), readFile)
      : accept(new TextEncoder().encode(raw));
    if (content.kind !== "value") return content;
    const bytes = raw.startsWith("@") ? withoutLastLineFeed(content.value) : content.value;
    if (!secretIsBase64) return checkSecret(bytes);
    const decoded = decodeBase64(new TextDecoder().decode(bytes));
    return decoded === null ? reject("", notBase64) : checkSecret(decoded);
  },
  print: (bytes, { secretIsBase64 }) =>
    quote(secretIsBase64 ? encodeBase64(bytes) : new TextDecoder().decode(bytes)),
};

const notBase64 = {
  expected: "padded base64, because jwt-secret-is-base64 is true",
  confidential: true,
};

function checkSecret(bytes: Uint8Array): CodecResult<Uint8Array> {
  if (bytes.length >= minSecretBytes || isKey(bytes)) return accept(bytes);
  const complaint = `The JWT secret must be at least ${minSecretBytes} characters long.`;
  return reject("", secretFormat, complaint);
}

const adminSecretFormat = {
  type: "text or `@file`",
  expected: `printable ASCII in quotes of at least ${minSecretBytes} characters, or "@" and the ` +
    "path of a file with it",
  confidential: true,
};

/** The codec of a secret that clients send in a header. */
export const adminSecret = textOrFile({
  format: adminSecretFormat,
  parse: checkAdminSecret,
  print: quote,
});

function checkAdminSecret(secret: string): CodecResult<string> {
  const fits = secret.length >= minSecretBytes && /^[\x21-\x7e]+$/.test(secret);
  return fits ? accept(secret) : reject("", adminSecretFormat);
}

/** Returns whether the secret is a JSON Web Key (set), which has no minimum length. */
function isKey(bytes: Uint8Array): boolean {
  const json = parseJsonObject(new TextDecoder().decode(bytes));
  return json !== null && ("kty" in json || "keys" in json);
}

export function readNamedFile(
  path: string,
  readFile: (path: string) => Uint8Array,
): CodecResult<Uint8Array> {
  try {
    return accept(readFile(path));
  } catch (error) {
    const reason = errorMessage(error);
    return { kind: "problem", problem: `cannot read the file ${JSON.stringify(path)}: ${reason}` };
  }
}

export function withoutLastLineFeed(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
}

const urlAlphabet: Readonly<Record<string, string>> = { "-": "+", "_": "/", ".": "=" };

function decodeBase64(source: string): Uint8Array | null {
  const standard = source.trim().replace(/[-_.]/g, (character) => urlAlphabet[character]!);
  const isStrict = standard.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(standard);
  if (!isStrict) return null;
  return Uint8Array.from(atob(standard), (character) => character.charCodeAt(0));
}

function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/// <reference lib="dom" />
/** All requests that the console sends. @module */
import { isRawJson, parseJson } from "../../../base/lib/json_text.ts";
import { isJsonObject } from "../../../base/lib/json_object.ts";
import { type ApiCall, targetOf } from "./code.ts";
import { adminToken, token } from "./session.ts";

/** Reports that the admin server requires its token. */
export class AdminTokenNeeded extends Error {}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly mediaType: string;
  /** Text of the body; null for a body that is not a text. */
  readonly text: string | null;
  readonly bytes: Blob;
  /** Milliseconds until the body had arrived. */
  readonly ms: number;
}

export interface ApiError {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
  readonly details: unknown;
  readonly hint: string | null;
}

const ownHeaders = (): Record<string, string> => ({
  Console: "1",
  ...(adminToken.value === null ? {} : { "Admin-Token": adminToken.value }),
});

/** Reads data from the admin server. Rejects with an `Error` whose message can be shown. */
export async function readConsole<Data>(path: string, sent?: unknown): Promise<Data> {
  const init = sent === undefined ? {} : { method: "POST", body: JSON.stringify(sent) };
  const response = await fetch(`/console/${path}`, { headers: ownHeaders(), ...init });
  if (response.status === 401 || response.status === 429) {
    throw new AdminTokenNeeded(await response.text());
  }
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return await response.json();
}

/** Sends a request to the API with the token's role. Rejects if the service is unreachable. */
export async function callApi(call: ApiCall, signal?: AbortSignal): Promise<ApiAnswer> {
  const { method, headers, body } = call;
  const start = performance.now();
  const response = await fetch(`/console/api${targetOf(call)}`, {
    method,
    headers: {
      ...ownHeaders(),
      ...Object.fromEntries(headers),
      ...(token.value === null ? {} : { Authorization: `Bearer ${token.value}` }),
    },
    body,
    redirect: "manual",
    signal: signal ?? null,
  });
  const bytes = await response.blob();
  const mediaType = (response.headers.get("Content-Type") ?? "").split(";")[0]!.trim();
  const isText = /^text\/|[/+](?:json|text)$|xml$|yaml$|javascript$/.test(mediaType) ||
    mediaType === "";
  const text = isText ? await bytes.text() : null;
  if (response.status === 401 && mediaType === "text/plain" && text?.includes("admin-token")) {
    throw new AdminTokenNeeded(text);
  }
  const ms = performance.now() - start;
  return { status: response.status, headers: response.headers, mediaType, text, bytes, ms };
}

/** Returns the error of an answer; null for a success. An ambiguous embed has the status 300. */
export function errorOf({ status, text }: ApiAnswer): ApiError | null {
  if (status < 300) return null;
  try {
    const { code = null, message, details = null, hint = null } = JSON.parse(text ?? "");
    return { status, code, message: String(message), details, hint };
  } catch {
    const message = text?.trim() || `The server responded with status ${status}`;
    return { status, code: null, message, details: null, hint: null };
  }
}

/** Returns the rows of a JSON response: an array of objects, or a single value. Numbers that
 * JavaScript would change are texts. */
export function rowsOf({ text }: ApiAnswer): readonly Readonly<Record<string, unknown>>[] {
  return rowsOfText(text ?? "");
}

/** Returns the columns whose values are numbers or null, in the JSON of rows. */
export function numbersOf(text: string): readonly string[] {
  const rows = parseJson(text) as readonly Readonly<Record<string, unknown>>[];
  return Object.keys(rows[0] ?? {}).filter((name) =>
    rows.every(({ [name]: value }) =>
      value === null || typeof value === "number" || isRawJson(value)
    )
  );
}

export function rowsOfText(text: string): readonly Readonly<Record<string, unknown>>[] {
  const value = text === "" ? [] : parseJson(text);
  const list = Array.isArray(value) ? value : [value];
  return list.map((row) => {
    const columns = isJsonObject(row) && !isRawJson(row) ? row : { value: row };
    const texts = Object.entries(columns).map(([name, each]) =>
      [name, isRawJson(each) ? each.rawJSON : each] as const
    );
    return Object.fromEntries(texts);
  });
}

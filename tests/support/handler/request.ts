/** Writes requests of tests short. @module */
import { type Claims, signToken } from "./token.ts";

/** Parts of a request in addition to its request line. */
export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Strings and bytes are sent unchanged, without a `Content-Type` of their own; anything else is
   * sent as JSON with `Content-Type: application/json` unless `headers` say otherwise.
   */
  readonly body?: unknown;
  /** Role or claims of the token to send. */
  readonly as?: string | Claims;
  /** What the token is signed with. */
  readonly secret?: string;
  readonly signal?: AbortSignal;
}

/** Makes a request of a line such as `GET /entities?id=eq.1` and an origin such as `http://x:3000`. */
export async function buildRequest(
  { line, origin }: { readonly line: string; readonly origin: string },
  parts: RequestParts = {},
): Promise<Request> {
  const space = line.indexOf(" ");
  const headers = new Headers(parts.headers);
  if (parts.as !== undefined) {
    const claims = typeof parts.as === "string" ? { role: parts.as } : parts.as;
    headers.set("Authorization", `Bearer ${await signToken(claims, parts.secret)}`);
  }
  if (isJson(parts.body) && !headers.has("Content-Type")) {
    headers.set("Content-Type", "application/json");
  }
  return new Request(origin + line.slice(space + 1), {
    method: line.slice(0, space),
    headers,
    body: encodeBody(parts.body),
    signal: parts.signal,
  });
}

function isJson(body: unknown): boolean {
  return body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
}

function encodeBody(body: unknown): BodyInit | null {
  if (body === undefined) return null;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
}

const withoutBody: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Reads the body to its end, so that a test that looks at the status alone leaves nothing open. */
export async function buffered(response: Response): Promise<Response> {
  const bytes = await response.arrayBuffer();
  if (withoutBody.has(response.status)) return response;
  const { status, statusText, headers } = response;
  return new Response(bytes, { status, statusText, headers });
}

/** Code that sends a request: as a curl command, and as a call of `fetch`. @module */
import { prettyJson } from "../../../base/lib/json_text.ts";

export interface ApiCall {
  readonly method: string;
  /** Path without the first slash: `film` or `rpc/add`. */
  readonly path: string;
  /** Query string without its question mark, possibly empty. */
  readonly query: string;
  /** Headers apart from `Authorization`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON text, or null. */
  readonly body: string | null;
}

/** Properties of the API that the code depends on. */
export interface CodeContext {
  /** Base URL without a slash at its end. */
  readonly url: string;
  readonly hasToken: boolean;
  /** Token to show; null to show a variable. */
  readonly token?: string | null;
}

/** Returns the request for sharing, without parts that only the pager needs: the count and the
 * cursor of the first page. */
export function sharedCall(call: ApiCall): ApiCall {
  const query = call.query.split("&").filter((part) => part !== "after=").join("&");
  const headers = call.headers.filter(([name, value]) =>
    name !== "Prefer" || value !== "count=planned"
  );
  return { ...call, query, headers };
}

export const languages = ["curl", "fetch"] as const;

export type Language = typeof languages[number];

export function codeOf(call: ApiCall, language: Language, context: CodeContext): string {
  return language === "curl" ? curl(call, context) : fetchCode(call, context);
}

/** Returns the target of a request: `/film?select=title`. */
export function targetOf({ path, query }: Pick<ApiCall, "path" | "query">): string {
  return `/${path}${query === "" ? "" : `?${query}`}`;
}

function curl(call: ApiCall, { url, hasToken, token = null }: CodeContext): string {
  const { method, headers, body } = call;
  const parts = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${shellWord(url + targetOf(call))}`,
    ...headers.map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(!hasToken
      ? []
      : token === null
      ? ['-H "Authorization: Bearer $TOKEN"']
      : [`-H ${shellWord(`Authorization: Bearer ${token}`)}`]),
    ...(body === null ? [] : [`--data-raw ${shellWord(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

/** Quotes a word for a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fetchCode(call: ApiCall, { url, hasToken, token = null }: CodeContext): string {
  const { method, body } = call;
  const bearer = token === null ? "`Bearer ${token}`" : literal(`Bearer ${token}`);
  const headers = [
    ...call.headers.map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    ...(hasToken ? [`    "Authorization": ${bearer},`] : []),
  ];
  const options = [
    ...(method === "GET" ? [] : [`  method: ${literal(method)},`]),
    ...(headers.length === 0 ? [] : ["  headers: {", ...headers, "  },"]),
    ...(body === null ? [] : [`  body: JSON.stringify(${indented(body)}),`]),
  ];
  const target = literal(url + targetOf(call));
  const argument = options.length === 0 ? "" : `, {\n${options.join("\n")}\n}`;
  return `const response = await fetch(${target}${argument});\nconst rows = await response.json();`;
}

/** Returns a text as a JavaScript literal. */
const literal = (text: string): string => JSON.stringify(text);

/** Returns JSON with line breaks, indented for an argument within an object. */
function indented(body: string): string {
  try {
    return prettyJson(body).replaceAll("\n", "\n  ");
  } catch {
    return literal(body);
  }
}

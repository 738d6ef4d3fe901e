/** Code that sends a request: a curl command, a call of `fetch`, and one of
 * `@supabase/postgrest-js`. @module */
import { splitParams } from "./filters.ts";

/** A request to the API. */
export interface ApiCall {
  readonly method: string;
  /** Path without its first slash: `film` or `rpc/add`. */
  readonly path: string;
  /** Query string without its question mark; empty for none. */
  readonly query: string;
  /** Headers apart from `Authorization`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON text; null for none. */
  readonly body: string | null;
}

/** Facts about the API that code needs. */
export interface CodeContext {
  /** Base URL without a slash at its end. */
  readonly url: string;
  /** Whether requests carry a token. */
  readonly hasToken: boolean;
  /** Token to show; null for a variable in its place. */
  readonly token?: string | null;
  /** Schema of the request if it is not the first; null otherwise. */
  readonly schema: string | null;
}

/** Languages of the code, with their labels. */
export const languages = {
  curl: "curl",
  fetch: "fetch",
  client: "postgrest-js",
} as const;

export type Language = keyof typeof languages;

/** Returns the code of a request. */
export function codeOf(call: ApiCall, language: Language, context: CodeContext): string {
  switch (language) {
    case "curl":
      return curl(call, context);
    case "fetch":
      return fetchCode(call, context);
    case "client":
      return clientCode(call, context);
    default:
      return language satisfies never;
  }
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
  const headers = [
    ...call.headers.map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    ...(hasToken ? [`    "Authorization": ${bearer(token)},`] : []),
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

/** Returns the value of `Authorization` in JavaScript. */
function bearer(token: string | null): string {
  return token === null ? "`Bearer ${token}`" : literal(`Bearer ${token}`);
}

/** Returns a text as a literal of JavaScript. */
const literal = (text: string): string => JSON.stringify(text);

/** Returns JSON with line breaks, as an argument within an object. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2).replaceAll("\n", "\n  ");
  } catch {
    return literal(body);
  }
}

function clientCode(call: ApiCall, context: CodeContext): string {
  const { url, hasToken, schema, token = null } = context;
  const options = [
    ...(schema === null ? [] : [`schema: ${literal(schema)}`]),
    ...(hasToken ? [`headers: { Authorization: ${bearer(token)} }`] : []),
  ];
  const argument = options.length === 0 ? "" : `, { ${options.join(", ")} }`;
  const steps = [start(call), ...clientSteps(call)];
  return `import { PostgrestClient } from "@supabase/postgrest-js";\n\n` +
    `const client = new PostgrestClient(${literal(url)}${argument});\n` +
    `const { data, error } = await client\n${steps.map((step) => `  ${step}`).join("\n")};`;
}

/** Returns the first steps of the client's call. */
function start({ method, path, body, query }: ApiCall): string {
  const params = splitParams(query);
  if (path.startsWith("rpc/")) {
    const name = literal(path.slice("rpc/".length));
    if (method !== "GET") return `.rpc(${name}, ${indented(body ?? "{}")})`;
    const names = params.filter(([param]) => !isRowParam(param));
    return `.rpc(${name}, ${JSON.stringify(Object.fromEntries(names))}, { get: true })`;
  }
  const from = `.from(${literal(decodeURIComponent(path))})`;
  const select = params.find(([name]) => name === "select")?.[1];
  const selected = `.select(${select === undefined ? "" : literal(select)})`;
  switch (method) {
    case "POST":
      return `${from}.insert(${indented(body ?? "{}")})${selected}`;
    case "PATCH":
      return `${from}.update(${indented(body ?? "{}")})${selected}`;
    case "DELETE":
      return `${from}.delete()${selected}`;
    default:
      return from + selected;
  }
}

/** Parameters of a call of a function by GET that concern its rows. */
function isRowParam(name: string): boolean {
  return ["select", "order", "limit", "offset"].includes(name);
}

/** Filters that the client has a method for, of the same name and with a text as value. */
const clientFilters: ReadonlySet<string> = new Set([
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "ilike",
]);

function clientSteps({ method, path, query }: ApiCall): readonly string[] {
  const params = splitParams(query);
  const isCall = path.startsWith("rpc/");
  const filters = params.filter(([name]) => !isRowParam(name) && !isCall).map(filterStep);
  const value = (name: string) => params.find(([each]) => each === name)?.[1];
  const [select, order, limit, offset] = [
    isCall ? value("select") : undefined,
    value("order"),
    value("limit"),
    value("offset"),
  ];
  const range = limit === undefined
    ? null
    : offset === undefined
    ? `.limit(${Number(limit)})`
    : `.range(${Number(offset)}, ${Number(offset) + Number(limit) - 1})`;
  return [
    ...(select === undefined ? [] : [`.select(${literal(select)})`]),
    ...filters,
    ...(order === undefined ? [] : order.split(",").map(orderStep)),
    ...(range === null || method !== "GET" ? [] : [range]),
  ];
}

function filterStep([name, value]: readonly [name: string, value: string]): string {
  if (name === "or") return `.or(${literal(value.slice(1, -1))})`;
  const [, negated = "", operator = "", rest = ""] = /^(not\.)?([a-z]+)\.(.*)$/s.exec(value) ?? [];
  if (operator === "") return `.filter(${literal(name)}, ${literal(value)})`;
  if (negated !== "") {
    return `.not(${literal(name)}, ${literal(operator)}, ${operand(operator, rest)})`;
  }
  if (operator === "is") return `.is(${literal(name)}, ${operand(operator, rest)})`;
  return clientFilters.has(operator)
    ? `.${operator}(${literal(name)}, ${literal(rest)})`
    : `.filter(${literal(name)}, ${literal(operator)}, ${literal(rest)})`;
}

function operand(operator: string, text: string): string {
  return operator === "is" && /^(?:null|true|false)$/.test(text) ? text : literal(text);
}

function orderStep(term: string): string {
  const [, column = term, direction = "asc"] = /^(.*?)(?:\.(asc|desc))?$/s.exec(term) ?? [];
  return `.order(${literal(column)}, { ascending: ${direction === "asc"} })`;
}

/** Parses `response.status` and `response.headers`, by which database code overrides the response. @module */
import type { HeaderList } from "../../base/lib/header_list.ts";
import { parseJson } from "../../base/lib/json_object.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { framingHeaders, headerValue, isHeaderName } from "../../base/errors/http_text.ts";

export type Header = readonly [name: string, value: string];

/** Returns the digits at the start of `response.status`. Throws 112. */
export function statusOverride(setting: string | null): number | null {
  if (setting === null) return null;
  const status = Number(/^\d+/.exec(setting)?.[0] ?? NaN);
  if (!(status >= 200 && status <= 599)) throw errors.invalidResponseStatus();
  return status;
}

/** Parses `response.headers`: an array of objects, each with one string member. Throws 111. */
export function headerOverrides(setting: string | null): HeaderList {
  if (setting === null) return [];
  const list = parseJson(setting);
  if (!Array.isArray(list)) throw errors.invalidResponseHeaders();
  return list.map(header).filter(([name]) => !framingHeaders.has(name.toLowerCase()));
}

function header(item: unknown): readonly [string, string] {
  const members = typeof item === "object" && item !== null && !Array.isArray(item)
    ? Object.entries(item)
    : [];
  const [name, text] = members[0] ?? [];
  const value = typeof text === "string" ? headerValue(text) : null;
  if (members.length !== 1 || name === undefined || value === null || !isHeaderName(name)) {
    throw errors.invalidResponseHeaders();
  }
  return [name, value];
}

/** Replaces headers of the service by headers of database code. An empty value removes a header. */
export function mergeHeaders(headers: Header[], overrides: HeaderList): Header[] {
  if (overrides.length === 0) return headers;
  const replaced = new Set(overrides.map(([name]) => name.toLowerCase()));
  return [
    ...headers.filter(([name]) => !replaced.has(name.toLowerCase())),
    ...overrides.filter(([, value]) => value.trim() !== ""),
  ];
}

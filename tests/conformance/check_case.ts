/** Sends the requests of a case and compares the answers. @module */
import { isJsonObject } from "../../src/base/lib/json_object.ts";
import { signToken } from "../support/handler/token.ts";
import type { Case, Exchange } from "./table.ts";

/** Sends a request to the server under test. */
export type Send = (request: Request) => Promise<Response>;

/** A server that does not answer, or not to the end, fails the case alone. */
const answerTimeoutMs = 30_000;

/** Returns a text for each difference between the answers and those of the table. */
export async function checkCase(send: Send, { exchanges }: Case, url: string): Promise<string[]> {
  const found: string[] = [];
  for (const exchange of exchanges) {
    const response = await send(await buildRequest(exchange, url));
    found.push(...compare(exchange, response, await response.text()));
  }
  return found;
}

async function buildRequest(exchange: Exchange, url: string): Promise<Request> {
  const headers = new Headers(
    exchange.headers.map(([name, value]): [string, string] => [name, value]),
  );
  if (exchange.claims !== null) {
    const claims = JSON.parse(exchange.claims, (_, value) => {
      const [, seconds] = /^@([+-]\d+)$/.exec(String(value)) ?? [];
      return seconds === undefined ? value : Math.floor(Date.now() / 1000) + Number(seconds);
    });
    headers.set("Authorization", `Bearer ${await signToken(claims)}`);
  }
  if (headers.get("Content-Type") === "none") headers.delete("Content-Type");
  else if (exchange.body !== null && !headers.has("Content-Type")) {
    headers.set("Content-Type", "application/json");
  }
  const body = exchange.body === null ? null : new TextEncoder().encode(exchange.body);
  const signal = AbortSignal.timeout(answerTimeoutMs);
  return new Request(url + exchange.path, { method: exchange.method, headers, body, signal });
}

function compare(exchange: Exchange, response: Response, body: string): string[] {
  const { status, answer, answerHeaders } = exchange;
  const found: string[] = [];
  if (response.status !== status) found.push(`status ${response.status} instead of ${status}`);
  for (const [name, value] of answerHeaders) {
    const actual = response.headers.get(name);
    const isSame = value === null ? actual === null : actual !== null && matches(actual, value);
    if (!isSame) found.push(`${name}: ${actual ?? "absent"} instead of ${value ?? "absent"}`);
  }
  if (!isBody(body, exchange)) found.push(`body ${body} instead of ${answer || "none"}`);
  return found;
}

function isBody(body: string, { method, path, answer }: Exchange): boolean {
  if (answer === "*") return true;
  if (answer === "" || method === "HEAD") return body === "";
  if (answer.startsWith("text ")) return matches(body, JSON.parse(answer.slice(5)));
  try {
    const actual = JSON.parse(body);
    if (/^[A-Z0-9]{5,}( \||$)/.test(answer)) return hasTexts(actual, answer.split(" | "));
    const names = [...new URL(path, "http://localhost").searchParams.keys()];
    const embeds = names.some((name) => name.endsWith(".order"));
    return isSame(actual, JSON.parse(answer), { rows: names.includes("order"), embeds });
  } catch {
    return false;
  }
}

function hasTexts(error: Record<string, unknown>, [code, ...texts]: readonly string[]): boolean {
  return error.code === code && ["message", "details", "hint"].every((name, at) => {
    const [actual, text] = [error[name], texts[at] || null];
    if (texts.length === 0 || text === "*") return true;
    if (text === null) return actual === null;
    return matches(typeof actual === "string" ? actual : JSON.stringify(actual), text);
  });
}

/** Whether a text is like a pattern in which `*` stands for any text. */
function matches(text: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[^\w\s]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`).test(text);
}

/** What a request orders: its rows, and those inside. Other arrays of objects are sets. */
interface Order {
  readonly rows: boolean;
  readonly embeds: boolean;
}

function isSame(actual: unknown, expected: unknown, { rows, embeds }: Order): boolean {
  const inside = { rows: embeds, embeds };
  if (expected === "*") return actual !== undefined;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    const [one, other] = rows ? [actual, expected] : [sorted(actual), sorted(expected)];
    return one.every((item, at) => isSame(item, other[at], inside));
  }
  if (!isJsonObject(expected) || !isJsonObject(actual)) return Object.is(actual, expected);
  const { "*": others, ...members } = expected;
  const names = Object.keys(members);
  return (others !== undefined || Object.keys(actual).length === names.length) &&
    names.every((name) => isSame(actual[name], members[name], inside));
}

/** Sorts objects by their text; arrays of other values keep their order. */
function sorted(items: readonly unknown[]): readonly unknown[] {
  if (!items.every(isJsonObject)) return items;
  return items.toSorted((one, other) => canonical(one) < canonical(other) ? -1 : 1);
}

function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inside) =>
      isJsonObject(inside) ? Object.fromEntries(Object.entries(inside).sort()) : inside,
  );
}

/** Hints for errors that have none, with `client-error-verbosity = advise`, which depend on the request:
 * others stand in the rows of the catalogue. They name the request's role, what the error's message
 * names, and objects of the schema cache, which has no privileges. @module */
import { decodeProtectedHeader } from "jose";
import { nearest } from "../../base/lib/nearest.ts";
import { isEmbedded } from "../../database/open.ts";
import type { ErrorFields } from "../../base/errors/service_error.ts";
import { quotable } from "../../base/errors/quoting.ts";
import { operatorWords } from "../request/url/operators.ts";
import { splitQuery } from "../request/url/query_string.ts";
import { createAdvice, privilegeAdvice } from "./privilege_advice.ts";
import { replacesHint, requestAdvice } from "./request_advice.ts";
import { bearerToken } from "../../state/auth/credential.ts";
import type { AdviceContext } from "./advice_context.ts";

type Adviser = (fields: ErrorFields, context: AdviceContext) => string | null;

/** Returns the hint for an error; null if the error has one that stays, and if the table has none. */
export function adviceFor(fields: ErrorFields, context: AdviceContext): string | null {
  const hint = fields.hint ?? null;
  const corrected = hint === null || replacesHint(fields) ? requestAdvice(fields, context) : null;
  const advise = (fields.own ? ownAdvisers : databaseAdvisers).get(fields.code);
  const advice = fields.advice ?? advise?.(fields, context) ?? null;
  const first = corrected ?? hint;
  // A name that resembles another one may also be a new one.
  if (first !== null && advice !== null && advise === staleAdvice) {
    return `${quotable(first.replace(/\.$/, ""))}. ${advice}`;
  }
  const added = corrected ?? (hint === null ? advice : null);
  return added === null ? null : quotable(added);
}

/** By codes without prefix. */
const ownAdvisers: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ["100", filterAdvice],
  ["107", planAdvice],
  ["200", staleAdvice],
  ["202", staleAdvice],
  ["204", (fields, context) => formAdvice(fields, context) ?? staleAdvice(fields, context)],
  ["205", staleAdvice],
  ["301", ({ details }, { pieces }) => tokenAdvice(details, pieces.headers["authorization"])],
]);

/** By SQLSTATE. */
const databaseAdvisers: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ["0A000", unsupportedAdvice],
  ["22023", missingRoleAdvice],
  ["25006", readOnlyAdvice],
  ["42501", privilegeAdvice],
  ["42703", staleAdvice],
  ["42883", staleAdvice],
  ["42P01", staleAdvice],
]);

function missingRoleAdvice({ message }: ErrorFields): string | null {
  const role = /^role "(.*)" does not exist$/s.exec(message)?.[1];
  return role === undefined ? null : createAdvice(role);
}

function readOnlyAdvice(
  { message }: ErrorFields,
  { pieces, config }: AdviceContext,
): string | null {
  if (!message.endsWith(" in a read-only transaction")) return null;
  if (config.dbReadOnly) return "The service is read only (db-read-only).";
  if (!pieces.path.startsWith("/rpc/")) return "The server is a standby.";
  return pieces.method === "POST"
    ? "The function writes: declare it volatile."
    : "The function writes: call it with POST.";
}

function unsupportedAdvice({ message }: ErrorFields): string | null {
  if (message.endsWith(" is not allowed in a non-volatile function")) {
    return "The function writes: declare it volatile.";
  }
  return message.endsWith(" during recovery") ? "The server is a standby." : null;
}

/** Advice for a name that a reload may add to the schema cache. */
function staleAdvice(_facts: ErrorFields, { config }: AdviceContext): string | null {
  const { dbSchemaWatch, dbUri } = config;
  const isPolled = dbSchemaWatch === "poll" || dbSchemaWatch === "auto" && !isEmbedded(dbUri);
  return isPolled ? "If it was made just now, ask again" : null;
}

function planAdvice(_facts: ErrorFields, { pieces, config }: AdviceContext): string | null {
  const isPlan = /application\/vnd\.[a-z]+\.plan/.test(pieces.headers["accept"] ?? "");
  return isPlan && !config.dbPlanEnabled ? "Set db-plan-enabled = true" : null;
}

function formAdvice({ message }: ErrorFields, { pieces }: AdviceContext): string | null {
  const isForm = pieces.headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  return isForm && /^Could not find the '\s*[{[]/.test(message)
    ? "The body was read as a form: send Content-Type: application/json"
    : null;
}

/** Spellings of operators in other languages. */
const operatorAliases: ReadonlyMap<string, string> = new Map([
  ["equal", "eq"],
  ["equals", "eq"],
  ["ne", "neq"],
  ["not_eq", "neq"],
  ["ge", "gte"],
  ["le", "lte"],
  ["contains", "cs"],
]);

/** Returns the filter as it should be written: `Write id=eq.5`. */
function filterAdvice({ message }: ErrorFields, { pieces }: AdviceContext): string | null {
  const value = /^"failed to parse filter \((.*)\)" \(line/s.exec(message)?.[1];
  if (value === undefined) return null;
  const name = splitQuery(pieces.query).find((param) => param.value === value)?.name;
  return name === undefined ? null : `Write ${name}=${correctedFilter(value)}`;
}

function correctedFilter(value: string): string {
  const [, not = "", word = "", rest = ""] = /^(not\.)?([A-Za-z_]+)\.(.*)$/s.exec(value) ?? [];
  if (word === "") return `eq.${value}`;
  if (word === "in") return `${not}in.(${rest.replace(/^\(|\)$/g, "")})`;
  if (word === "is") return `${not}is.null`;
  const operator = operatorWords.includes(word)
    ? word
    : operatorAliases.get(word.toLowerCase()) ?? similarOperator(word);
  return operator === null ? `eq.${value}` : `${not}${operator}.${rest}`;
}

/** Two letters alone resemble every operator of two letters. */
function similarOperator(word: string): string | null {
  return word.length > 2 ? nearest(word, operatorWords) : null;
}

/** Returns the hint for error 301 by its details and the token; null for others. */
function tokenAdvice(details: unknown, authorization: string | undefined): string | null {
  const token = authorization === undefined ? null : bearerToken(authorization);
  if (token === null) return null;
  if (/^["'].*["']$/.test(token)) return "Send the token without quotes";
  if (details === "None of the keys was able to decode the JWT") {
    return "The signature does not fit jwt-secret";
  }
  if (details !== "No suitable key was found to decode the JWT") return null;
  return namesKey(token) ? "No key with that kid" : "No key for that alg";
}

function namesKey(token: string): boolean {
  try {
    return typeof decodeProtectedHeader(token).kid === "string";
  } catch {
    return false;
  }
}

/**
 * Hints for errors that have none, with `client-error-verbosity = advise`: one table, from codes to
 * functions of the error and the request. They name the request's role and what the error's message
 * names, so that no client learns a name from them.
 *
 * @module
 */
import { nearest } from "../config/nearest.ts";
import type { Config } from "../config/options.ts";
import { isEmbedded } from "../database/open.ts";
import type { ErrorFields } from "../errors/service_error.ts";
import { quotable } from "../errors/quoting.ts";
import { operatorWords } from "../request/operators.ts";
import { splitQuery } from "../request/query_string.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { privilegeAdvice } from "./privilege_advice.ts";
import { createAdvice } from "./role_advice.ts";
import { tokenAdvice } from "./token_advice.ts";

/** A request that failed. */
export interface AdviceContext {
  readonly pieces: RawRequest;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** Result of `version()`; null before the service knows it. */
  readonly serverVersion: string | null;
  readonly config: Pick<
    Config,
    "dbReadOnly" | "dbSchemas" | "dbSchemaWatch" | "dbUri" | "dbPlanEnabled"
  >;
}

type Adviser = (fields: ErrorFields, context: AdviceContext) => string | null;

/** Returns the hint for an error; null if the error has one, and if the table has none. */
export function adviceFor(fields: ErrorFields, context: AdviceContext): string | null {
  if (fields.hint !== null && fields.hint !== undefined) return null;
  const advise = (fields.own ? ownAdvisers : databaseAdvisers).get(fields.code);
  const advice = fields.advice ?? advise?.(fields, context) ?? null;
  return advice === null ? null : quotable(advice);
}

/** By codes without prefix. */
const ownAdvisers: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ["100", filterAdvice],
  ["107", planAdvice],
  ["123", () => "Set db-aggregates-enabled = true"],
  ["126", () => 'Set openapi-mode = "follow-privileges"'],
  ["200", staleAdvice],
  ["202", staleAdvice],
  ["204", (fields, context) => formAdvice(fields, context) ?? staleAdvice(fields, context)],
  ["205", staleAdvice],
  ["300", () => "jwt-secret is not set"],
  ["301", ({ details }, { pieces }) => tokenAdvice(details, pieces.headers["authorization"])],
  ["302", () => "Send a token, or set db-anon-role"],
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

function missingRoleAdvice({ message }: ErrorFields, context: AdviceContext): string | null {
  const role = /^role "(.*)" does not exist$/s.exec(message)?.[1];
  return role === undefined ? null : createAdvice(role, context);
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

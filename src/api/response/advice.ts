/**
 * Hints for errors with `client-error-verbosity = advise` that depend on the request. Hints of
 * single errors are in the catalogue. A hint may name the role, the subject of the error and any
 * object of the schema cache, also without a privilege. Hints never read messages. @module
 */
import { nearest } from "../../base/lib/nearest.ts";
import { isEmbedded } from "../../database/open.ts";
import { type ErrorFields, isRaised } from "../../base/errors/service_error.ts";
import { quotable } from "../../base/errors/quoting.ts";
import { operatorWords } from "../request/url/operators.ts";
import { splitQuery } from "../request/url/query_string.ts";
import { createAdvice, isRoleRefused, privilegeAdvice } from "./privilege_advice.ts";
import { formBody, replacesHint, requestAdvice } from "./request_advice.ts";
import { bearerToken } from "../../state/auth/credential.ts";
import type { AdviceContext } from "./advice_context.ts";
import { targetRelation } from "./request_parts.ts";

type Adviser = (fields: ErrorFields, context: AdviceContext) => string | null;

/** Returns the hint for an error; null if the error keeps its hint, if a function raised it, or if
 * its code has no adviser. */
export function adviceFor(fields: ErrorFields, context: AdviceContext): string | null {
  if (isRaised(fields.subject)) return null;
  const hint = fields.hint ?? null;
  const corrected = hint === null || replacesHint(fields) ? requestAdvice(fields, context) : null;
  const advise = (fields.own ? ownAdvisers : databaseAdvisers).get(fields.code);
  const advice = fields.advice ?? advise?.(fields, context) ?? null;
  const first = corrected ?? hint;
  // Both hints are given: a name that resembles a known name may be the name of a new object.
  if (first !== null && advice !== null && advise === staleAdvice) {
    return `${quotable(first.replace(/\.$/, ""))}. ${advice}`;
  }
  const added = corrected ?? (hint === null ? advice : null);
  return added === null ? null : quotable(added);
}

/** Advisers for errors of the service, by code without prefix. */
const ownAdvisers: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ["100", filterAdvice],
  ["107", mediaTypeAdvice],
  ["200", staleAdvice],
  ["202", staleAdvice],
  ["204", staleAdvice],
  ["205", staleAdvice],
  ["301", (_, { raw }) => tokenAdvice(raw.headers["authorization"])],
]);

/** Advisers for errors of PostgreSQL, by SQLSTATE. */
const databaseAdvisers: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ["0A000", ({ subject }) => unsupported.get(subject?.routine ?? "") ?? null],
  ["22023", missingRoleAdvice],
  ["25006", readOnlyAdvice],
  ["42501", privilegeAdvice],
  ["42703", staleAdvice],
  ["42883", staleAdvice],
  ["42P01", staleAdvice],
  ["57014", (_, { role }) => timeoutAdvice(role)],
  ["XX000", geometryAdvice],
]);

/** Returns advice for a statement that an administrator or a timeout ended early. A statement that
 * svc cancels has the error `134`. */
function timeoutAdvice(role: string | null): string {
  return `If a timeout ended it: alter role ${role ?? "…"} set statement_timeout, or raise ` +
    "db-statement-timeout";
}

function missingRoleAdvice({ subject }: ErrorFields, { role }: AdviceContext): string | null {
  return role !== null && isRoleRefused(subject) ? createAdvice(role) : null;
}

function readOnlyAdvice(
  { subject }: ErrorFields,
  { raw, config }: AdviceContext,
): string | null {
  if (subject?.routine?.startsWith("PreventCommand") !== true) return null;
  if (config.dbReadOnly) return "The service is read only (db-read-only).";
  if (!raw.path.startsWith("/rpc/")) return "The server is a standby.";
  return raw.method === "POST"
    ? "The function writes: declare it volatile."
    : "The function writes: call it with POST.";
}

/** Advice, by the C function of PostgreSQL that rejects the statement. */
const unsupported: ReadonlyMap<string, string> = new Map([
  ["_SPI_execute_plan", "The function writes: declare it volatile."],
  ["init_execution_state", "The function writes: declare it volatile."],
  ["call_bool_check_hook", "The server is a standby."],
]);

/** Returns advice for invalid geometries, which PostGIS reports with the SQLSTATE `XX000`. */
function geometryAdvice({ subject }: ErrorFields, context: AdviceContext): string | null {
  const columns = targetRelation(context)?.columns ?? [];
  const isSpatial = columns.some(({ baseType }) => /\bgeo(metry|graphy)\b/.test(baseType));
  return isSpatial && subject?.routine === "pg_error"
    ? "Send WKT such as POINT(1 2), hexadecimal WKB or GeoJSON"
    : null;
}

/** Advice for a name that a reload may add to the schema cache. */
function staleAdvice(fields: ErrorFields, context: AdviceContext): string | null {
  if (formBody(fields, context) !== null) return null;
  const { dbSchemaWatch, dbUri } = context.config;
  const isPolled = dbSchemaWatch === "poll" || dbSchemaWatch === "auto" && !isEmbedded(dbUri);
  return isPolled ? "If it is new, send the request again" : null;
}

function mediaTypeAdvice(
  { status }: ErrorFields,
  { raw, config }: AdviceContext,
): string | null {
  const isPlan = /application\/vnd\.[a-z]+\.plan/.test(raw.headers["accept"] ?? "");
  if (isPlan && !config.dbPlanEnabled) return "Set db-plan-enabled = true";
  if (raw.method === "QUERY") return null;
  return `Send ${status === 415 ? "Content-Type" : "Accept"}: application/json`;
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

/** Operands of `is` in other languages. */
const isOperands = [[/^not\W?n/i, "not_null"], [/^[ty]/i, "true"], [/^f|^no?$/i, "false"]] as const;

/** Returns the correct form of a filter: `Write id=eq.5`. */
function filterAdvice({ subject }: ErrorFields, { raw }: AdviceContext): string | null {
  const value = subject?.filter;
  if (value === undefined) return null;
  const name = splitQuery(raw.query).find((param) => param.value === value)?.name;
  return name === undefined ? null : `Write ${name}=${correctedFilter(value)}`;
}

function correctedFilter(value: string): string {
  const [, not = "", written = "", rest = ""] = /^(not\.)?([A-Za-z_]+)\.(.*)$/s.exec(value) ?? [];
  const word = written.toLowerCase();
  if (word === "") return `eq.${value}`;
  if (word === "in") return `${not}in.(${rest.replace(/^[([]|[)\]]$/g, "")})`;
  const [, operand = "null"] = isOperands.find(([spelling]) => spelling.test(rest)) ?? [];
  if (word === "is") return `${not}is.${operand}`;
  // Words of two letters are not corrected: each resembles every operator of two letters.
  const similar = word.length > 2 ? nearest(word, operatorWords) : null;
  const operator = operatorWords.includes(word) ? word : operatorAliases.get(word) ?? similar;
  return operator === null ? `eq.${value}` : `${not}${operator}.${rest}`;
}

function tokenAdvice(authorization: string | undefined): string | null {
  const token = authorization === undefined ? null : bearerToken(authorization);
  return token !== null && /^["'].*["']$/.test(token) ? "Send the token without quotes" : null;
}

/** Hints for missing privileges: the statement that grants them. @module */
import type { ErrorFields } from "../../base/errors/service_error.ts";
import { chooseSchema } from "../request/profile.ts";
import { percentDecode } from "../../base/http/percent.ts";
import { decodeQueryText, splitQuery } from "../request/url/query_string.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { nameText } from "../../base/sql/name_text.ts";
import type { AdviceContext } from "./advice_context.ts";

/** Returns the hint for SQLSTATE 42501 by PostgreSQL's message; null for another message. */
export function privilegeAdvice({ message }: ErrorFields, context: AdviceContext): string | null {
  const becomes = /^permission denied to set role "(.*)"$/s.exec(message)?.[1];
  if (becomes !== undefined) return grantAdvice(becomes);
  const secured = /row-level security policy.* for table "(.*)"$/s.exec(message)?.[1];
  if (secured !== undefined) {
    return `A policy on "${secured}" with check (…) must allow the row; a representation needs a ` +
      "select policy, too.";
  }
  const [, kind, name] =
    /^permission denied for (table|view|materialized view|foreign table|schema|sequence|function|procedure) (.+)$/s
      .exec(message) ?? [];
  if (kind === undefined || name === undefined || context.role === null) return null;
  const role = nameText(context.role);
  switch (kind) {
    case "schema":
      return `grant usage on schema ${nameText(name)} to ${role};`;
    case "sequence":
      return sequenceAdvice(name, role, context);
    case "function":
    case "procedure":
      return `Grant ${role} EXECUTE on the ${kind} ${routineText(name, context)}, with its ` +
        "argument types if several have the name";
    default:
      return relationAdvice(name, role, context);
  }
}

function relationAdvice(name: string, role: string, context: AdviceContext): string {
  const { pieces } = context;
  if (targetOf(pieces) === name) {
    return `grant ${privilegesOf(pieces).join(", ")} on ${
      qualifiedText(name, context)
    } to ${role};`;
  }
  if (targetOf(pieces) !== null && decodeQueryText(pieces.query).includes(name)) {
    return `grant select on ${qualifiedText(name, context)} to ${role};`;
  }
  return `Grant ${role} the privileges on ${nameText(name)} that views, functions or triggers of ` +
    "the request use";
}

type Privilege = "select" | "insert" | "update" | "delete";

/** Returns what a request on a relation needs. */
function privilegesOf({ method, query, headers }: RawRequest): readonly Privilege[] {
  const prefer = headers["prefer"] ?? "";
  const params = splitQuery(query);
  const isRepresented = /return=representation/.test(prefer);
  const isFiltered = params.some(({ name }) => !/^(select|columns|on_conflict)$/.test(name));
  const reads: readonly Privilege[] = isRepresented || isFiltered ? ["select"] : [];
  switch (method) {
    case "POST":
      if (/resolution=merge-duplicates/.test(prefer)) return ["insert", "update", "select"];
      return isRepresented || /resolution=/.test(prefer) ? ["insert", "select"] : ["insert"];
    case "PUT":
      return ["insert", "update", "select"];
    case "PATCH":
      return ["update", ...reads];
    case "DELETE":
      return ["delete", ...reads];
    default:
      return ["select"];
  }
}

/** Returns the relation in a path; null for others. */
function targetOf({ path }: RawRequest): string | null {
  return path.startsWith("/rpc/") ? null : percentDecode(path.slice(1), "reject");
}

/** PostgreSQL names a relation without its schema. */
function qualifiedText(name: string, { pieces, config }: AdviceContext): string {
  try {
    return nameText(chooseSchema(pieces, config).schema, name);
  } catch {
    return nameText(name);
  }
}

/** The sequence of a column is in the schema of its table; the message names no other schema. */
function sequenceAdvice(name: string, role: string, context: AdviceContext): string {
  const target = targetOf(context.pieces);
  return target !== null && name.startsWith(`${target}_`)
    ? `grant usage on sequence ${qualifiedText(name, context)} to ${role};`
    : `Grant ${role} USAGE on the sequence ${nameText(name)}`;
}

function routineText(name: string, context: AdviceContext): string {
  const { path } = context.pieces;
  return path === `/rpc/${name}` ? qualifiedText(name, context) : nameText(name);
}

/** Returns the hint for a role that exists. A superuser must stay out of reach of requests. */
function grantAdvice(role: string): string {
  return /^(pg_|postgres$)/.test(role)
    ? `Send a token of another role than ${nameText(role)}`
    : `Grant ${nameText(role)} to the login role, unless it is a superuser`;
}

/** Returns the hint for a role that does not exist; null for a name that PostgreSQL reserves. */
export function createAdvice(role: string): string | null {
  if (/^(pg_|public$|none$)/.test(role)) return null;
  return `create role ${nameText(role)} nologin; then grant it to the login role`;
}

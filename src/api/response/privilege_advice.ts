/** Hints for missing privileges: the statement that grants them. @module */
import type { ErrorFields, ErrorSubject } from "../../base/errors/service_error.ts";
import { nameText } from "../../base/sql/name_text.ts";
import type { QualifiedName } from "../../state/schema_cache/schema_cache.ts";
import type { ReadNode } from "../plan/read_node.ts";
import type { RawRequest } from "../request/raw_request.ts";
import { splitQuery } from "../request/url/query_string.ts";
import { type DataPlan, relationOf } from "../transaction/data_plan.ts";
import type { AdviceContext } from "./advice_context.ts";
import { targetRelation } from "./request_parts.ts";

/** The C functions of PostgreSQL that raise 42501. */
const routines = {
  /** Rejects the use of any object. PostgreSQL names the object only in the message. */
  object: "aclcheck_error",
  sequence: "nextval_internal",
  policy: "ExecWithCheckOptions",
  /** Rejects the value of a setting, such as `role`. */
  setting: "call_string_check_hook",
} as const;

/** Returns the hint for SQLSTATE 42501; null if a function raised the error. */
export function privilegeAdvice({ subject }: ErrorFields, context: AdviceContext): string | null {
  if (context.role === null) return null;
  const role = nameText(context.role);
  switch (subject?.routine) {
    case routines.setting:
      return isRoleRefused(subject) ? grantAdvice(context.role) : null;
    case routines.policy:
      return policyAdvice(subject, context);
    case routines.sequence:
      return sequenceAdvice(subject, role, context);
    case routines.object:
      return objectAdvice(subject, role, context);
    default:
      return null;
  }
}

/** Returns whether PostgreSQL has refused to set the role of the request. */
export function isRoleRefused(subject: ErrorSubject | undefined): boolean {
  return subject?.routine === routines.setting && subject.isNested !== true;
}

function policyAdvice({ isNested }: ErrorSubject, context: AdviceContext): string {
  const target = isNested === true ? null : targetRelation(context);
  return `A policy on ${target === null ? "the table" : `"${target.name}"`} with check (…) must ` +
    "allow the row; a representation needs a select policy, too.";
}

/** Returns the hint for an object. PostgreSQL reports the position of a name only if the role may
 * not use its schema. */
function objectAdvice(
  { names = [], isNested }: ErrorSubject,
  role: string,
  context: AdviceContext,
): string | null {
  const [schema, ...name] = names;
  if (schema !== undefined && name.length > 0) {
    return `grant usage on schema ${nameText(schema)} to ${role};`;
  }
  if (isNested === true) {
    return `Grant ${role} the privilege: a function or a trigger of the request uses it`;
  }
  const { plan = null } = context;
  if (plan?.kind === "call") {
    const { schema, name } = plan.call.routine;
    return `Grant ${role} EXECUTE on the function ${nameText(schema, name)}, with its argument ` +
      "types if several have the name, USAGE on its schema, and the privileges on what it uses";
  }
  const grants = plan === null ? [] : grantsOf(plan, context.raw);
  return grants.map((grant) => `grant ${grant} to ${role};`).join(" ") || null;
}

/** Returns the GRANT for the privileges that a request on a relation needs. */
function grantsOf(
  plan: Exclude<DataPlan, { kind: "call" }>,
  raw: RawRequest,
): readonly string[] {
  const target = relationOf(plan)!;
  const read = plan.kind === "mutate" ? plan.mutate.read : plan.read;
  const embedded = read === null ? [] : relationsBelow(read.root);
  const names = [...new Set(embedded.map(({ schema, name }) => nameText(schema, name)))];
  const privileges = privilegesOf(raw);
  const targetName = nameText(target.schema, target.name);
  const others = names.filter((name) => name !== targetName);
  if (privileges.join() === "select") return [`select on ${[targetName, ...others].join(", ")}`];
  const select = others.length === 0 ? [] : [`select on ${others.join(", ")}`];
  return [`${privileges.join(", ")} on ${targetName}`, ...select];
}

function relationsBelow({ embeds }: ReadNode): readonly QualifiedName[] {
  return embeds.flatMap(({ node, join }) => [
    ...join.kind === "junction" ? [join.junction] : [],
    ...node.relation === null ? [] : [node.relation],
    ...relationsBelow(node),
  ]);
}

type Privilege = "select" | "insert" | "update" | "delete";

/** Returns the privileges that a request on a relation needs. */
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

/** Returns the hint for an insert: it uses the sequences in the defaults of the target's columns. */
function sequenceAdvice(
  { isNested }: ErrorSubject,
  role: string,
  context: AdviceContext,
): string {
  const columns = isNested === true ? [] : targetRelation(context)?.columns ?? [];
  const sequences = columns.flatMap((column) =>
    /^nextval\('([^']+)'::regclass\)$/.exec(column.default ?? "")?.[1] ?? []
  );
  return sequences.length === 0
    ? `Grant ${role} USAGE on the sequence`
    : `grant usage on sequence ${sequences.join(", ")} to ${role};`;
}

/** Returns the hint for an existing role. A superuser must not be granted to the login role. */
function grantAdvice(role: string): string {
  return /^(pg_|postgres$)/.test(role)
    ? `Send a token of another role than ${nameText(role)}`
    : `Grant ${nameText(role)} to the login role, unless it is a superuser`;
}

/** Returns the hint for a missing role; null if PostgreSQL reserves its name. */
export function createAdvice(role: string): string | null {
  if (/^(pg_|public$|none$|null$)/.test(role)) return null;
  return `create role ${nameText(role)} nologin; then grant it to the login role`;
}

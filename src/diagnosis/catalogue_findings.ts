/** The findings in the catalogue: level and message of each. @module */
import { nearest } from "../config/nearest.ts";
import { type Finding, type FindingLevel } from "./finding.ts";
import type { CatalogueFacts, CatalogueRow } from "./query.ts";

/** Parts of a message. Names are quoted for SQL where that is needed. */
interface FindingFacts {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly objects: readonly (string | null)[];
  readonly hasSql: boolean;
  readonly catalogue: CatalogueFacts;
  /** The words that start the program. */
  readonly program: string;
}

interface FindingKind {
  readonly name: string;
  /** Level of a finding about the anonymous role. */
  readonly level: FindingLevel;
  /** Level of a finding about other roles only. Default: the same. */
  readonly others?: FindingLevel;
  readonly message: (facts: FindingFacts) => string;
}

/** Name, level and message of findings in policies and indexes. */
const policyTexts = `
policy-without-rls error {subject} has no row-level security, so its policies have no effect: {objects}
policy-user-metadata error the policy {subject} reads user_metadata, which users change: use app_metadata
restrictive-only warn no row of {subject} passes for {objects} of {roles}: all policies are restrictive
select-policy-missing warn {objects} of {roles} finds no row of {subject}: no policy for SELECT applies
policy-without-grant warn the policy {subject} names {roles}, without the privilege: {objects}
write-policy-true warn the policy {subject} is true for {objects} of {roles}: name the rows
definer-callable warn {roles} may call {subject}, which runs with the rights of its owner
copy-exposed warn {roles} may read all rows of {subject}, past policies: they come from {objects}
policy-volatile warn the policy {subject} calls {objects} for each row: VOLATILE forbids to do it once
policies-merge info {objects} on {subject} are evaluated together for {roles}: make them one, or separate them
foreign-key-index info no index begins with the columns of {subject}: embeds and deletes scan the table
live-trigger warn live queries see changes of {subject} at live-recheck alone: it has no trigger
index-duplicate info the index {subject} finds the rows that {objects} finds
no-primary-key info {subject} has no primary key: requests have neither PUT nor cursors
`;

/** The findings in the order of the output. */
const kinds: readonly FindingKind[] = [
  {
    name: "schema-missing",
    level: "error",
    message: ({ subject, objects: [key], catalogue }) =>
      `schema ${subject} of ${key} does not exist` + suggestion(subject, catalogue.schemas),
  },
  {
    name: "schema-empty",
    level: "warn",
    message: ({ subject, catalogue }) =>
      `schema ${subject} has no relation and no function` +
      (catalogue.filledSchemas.length === 0
        ? ""
        : `; schemas that have some: ${catalogue.filledSchemas.join(", ")}`),
  },
  {
    name: "role-missing",
    level: "error",
    message: ({ subject }) => `role ${subject}, the db-anon-role, does not exist`,
  },
  {
    name: "role-not-granted",
    level: "error",
    message: ({ subject, catalogue }) => `${catalogue.login} may not become ${subject}`,
  },
  {
    name: "schema-usage",
    level: "error",
    others: "info",
    message: ({ subject, roles }) => `${list(roles)} has no USAGE on schema ${subject}`,
  },
  {
    name: "function-missing",
    level: "error",
    others: "error",
    message: ({ subject, roles, objects: [name, signature, procedure], catalogue }) => {
      if (signature) return `${list(roles)} may not call ${signature}, the ${subject}`;
      if (procedure) return `${name}, the ${subject}, is a procedure: it must be a function`;
      return `${name}, the ${subject}, does not exist` +
        functionSuggestion(name!, catalogue.functions);
    },
  },
  {
    name: "role-superuser",
    level: "error",
    others: "warn",
    message: ({ subject, hasSql, program }) =>
      `${subject} is a superuser: neither privileges nor policies restrict its requests` +
      otherRoles(hasSql, program),
  },
  {
    name: "role-bypassrls",
    level: "error",
    others: "warn",
    message: ({ subject, hasSql, program }) =>
      `${subject} has BYPASSRLS: policies do not restrict its requests` +
      otherRoles(hasSql, program),
  },
  {
    name: "role-owns",
    level: "error",
    others: "warn",
    message: ({ subject, roles: owners, objects, hasSql, program }) =>
      (owners.length === 0
        ? `${subject} owns ${list(objects)}: `
        : `${subject} is a member of ${list(owners)}, the owner of ${list(objects)}: `) +
      `row-level security does not apply to owners` +
      otherRoles(hasSql, program),
  },
  {
    name: "write-without-rls",
    level: "error",
    others: "warn",
    message: ({ subject, roles, objects: [first, ...others] }) => {
      const every = `${list(roles)} may write every row of ${subject}: `;
      const past = "with the rights of its owner, past policies";
      if (first === undefined) return `${every}add policies that name the rows`;
      if (first !== null) return `${every}the view writes ${list([first, ...others])} ${past}`;
      return `${list(roles)} may write rows that ${subject} does not show: the view writes ` +
        `${list(others)} ${past}`;
    },
  },
  {
    name: "create-in-schema",
    level: "error",
    others: "warn",
    message: ({ subject, roles }) => `${list(roles)} may create objects in schema ${subject}`,
  },
  {
    name: "citus-settings",
    level: "error",
    message: ({ subject }) =>
      `policies of ${subject} see neither role nor claims on workers: the server does not know ` +
      "citus.propagate_set_commands",
  },
  {
    name: "citus-login",
    level: "error",
    message: ({ subject, objects }) =>
      `${subject} may not log in, but Citus connects to workers as this role for ${list(objects)}`,
  },
  {
    name: "citus-inlined",
    level: "error",
    message: ({ subject, objects }) =>
      `${subject} finds no rows of ${list(objects)}: PostgreSQL puts it into a query that Citus ` +
      "has planned before",
  },
  {
    name: "login-superuser",
    level: "warn",
    message: ({ subject, program }) =>
      `${subject}, the user of db-uri, is a superuser: ${program} init makes a login role that is ` +
      "not",
  },
  {
    name: "login-inherits",
    level: "warn",
    message: ({ subject, roles }) =>
      `${subject}, the user of db-uri, always has the privileges of ${list(roles)}`,
  },
  {
    name: "nothing-readable",
    level: "warn",
    message: ({ subject, objects }) => `${subject} may not read ${list(objects)}`,
  },
  {
    name: "sequence-usage",
    level: "warn",
    message: ({ subject, roles, objects }) =>
      `${list(roles)} may insert into ${list(objects)}, but not use the sequence ${subject}`,
  },
  {
    name: "view-owner-rights",
    level: "warn",
    message: ({ subject, objects, hasSql }) =>
      `${subject} reads ${list(objects)} with the rights of its owner, so policies do not apply ` +
      "to callers" + (hasSql ? "" : "; PostgreSQL 15 and later have security_invoker"),
  },
  {
    name: "definer-search-path",
    level: "warn",
    message: ({ subject }) =>
      `${subject} is SECURITY DEFINER without a search_path: callers choose which objects it uses`,
  },
  {
    name: "truncate",
    level: "warn",
    message: ({ subject, objects }) =>
      `${subject} may truncate ${list(objects)}, which policies do not restrict`,
  },
  {
    name: "rls-without-policy",
    level: "info",
    message: ({ subject }) =>
      `${subject} has row-level security and no policy: only its owner sees rows`,
  },
  ...policyKinds(),
];

function policyKinds(): readonly FindingKind[] {
  return policyTexts.trim().split("\n").map((line) => {
    const [, name = "", level, text = ""] = /^(\S+) (\S+) (.*)$/.exec(line)!;
    return {
      name,
      level: level as FindingLevel,
      // A grant to the anonymous role by name may be that of a login.
      ...(name === "definer-callable" ? { others: "info" } : {}),
      message: ({ subject, roles, objects }) => {
        const parts = { subject, roles: list(roles), objects: list(objects) };
        return text.replace(/\{(\w+)\}/g, (_, part: keyof typeof parts) => parts[part]);
      },
    };
  });
}

/**
 * Returns the findings of the catalogue, in the order of the table. Advice begins with `program`, the
 * words that start the program.
 */
export function catalogueFindings(
  catalogue: CatalogueFacts,
  program: string,
): readonly Finding[] {
  return kinds.flatMap((kind) =>
    catalogue.rows.filter(([name]) => name === kind.name)
      .map((row) => makeFinding(kind, row, { catalogue, program }))
  );
}

function makeFinding(
  { name, level, others = level, message }: FindingKind,
  [, anonymous, subject, roles, objects, statements]: CatalogueRow,
  context: Pick<FindingFacts, "catalogue" | "program">,
): Finding {
  const hasSql = statements.length > 0;
  const facts = { subject, roles, objects, hasSql, ...context };
  return {
    name,
    level: anonymous ? level : others,
    subject,
    message: message(facts),
    sql: hasSql ? statements.join("\n") : null,
  };
}

/** Most names that a message lists. */
const maxNames = 3;

function list(names: readonly (string | null)[]): string {
  const shown = names.slice(0, maxNames);
  const more = names.length - shown.length;
  if (more > 0) return `${shown.join(", ")} and ${more} more`;
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** The advice where the role is the login role, or one that PostgreSQL does not alter. */
function otherRoles(hasSql: boolean, program: string): string {
  return hasSql ? "" : `; ${program} init makes a role that is safe to use`;
}

/** A name without schema resembles the last part of a function's name. */
function functionSuggestion(quoted: string, functions: readonly string[]): string {
  const name = unquoted(quoted);
  if (name.includes(".")) return suggestion(name, functions);
  const last = (qualified: string) => qualified.slice(qualified.lastIndexOf(".") + 1);
  const found = nearest(name, functions.map(last));
  const qualified = functions.find((each) => last(each) === found);
  return qualified === undefined ? "" : `; did you mean ${qualified}?`;
}

function suggestion(name: string, candidates: readonly string[]): string {
  const found = nearest(unquoted(name), candidates);
  return found === null ? "" : `; did you mean ${found}?`;
}

/** Removes the quotes of SQL names: options name schemas and functions without them. */
function unquoted(name: string): string {
  return name.replace(/"((?:[^"]|"")*)"/g, (_, inner: string) => inner.replaceAll('""', '"'));
}

/** The findings in the catalogue: level and message of each. @module */
import { nearest } from "../../../base/lib/nearest.ts";
import { type Finding, type FindingLevel } from "./finding.ts";
import type { Catalogue } from "./query.ts";

/** A finding, and the names and words for its message. Names are quoted for SQL. */
interface FindingValues {
  readonly subject: string;
  readonly roles: readonly string[];
  readonly objects: readonly (string | null)[];
  readonly hasSql: boolean;
  readonly catalogue: Catalogue;
  readonly program: string;
}

/** Name, level and message of the findings, in the order of the output. A level after a slash is
 * for roles other than the anonymous one. */
const texts = `
schema-missing error schema {subject} of {objects} does not exist{near}
schema-empty warn schema {subject} has no relation and no function{filled}
role-missing error role {subject}, the db-anon-role, does not exist
role-not-granted error {login} may not become {subject}
schema-usage error/info {roles} has no USAGE on schema {subject}
function-missing error {function}
role-superuser error/warn {subject} is a superuser: neither privileges nor policies restrict its requests{init}
role-bypassrls error/warn {subject} has BYPASSRLS: policies do not restrict its requests{init}
role-owns error/warn {owner}: row-level security does not apply to owners{init}
write-without-rls error/warn {writes}
create-in-schema error/warn {roles} may create objects in schema {subject}
citus-settings error policies of {subject} see neither role nor claims on workers: the server does not know citus.propagate_set_commands
citus-login error {subject} may not log in, but Citus connects to workers as this role for {objects}
citus-worker error {objects} refuses {subject}: see its pg_hba.conf, and pg_dist_authinfo on the coordinator
citus-inlined error {subject} finds no rows of {objects}: PostgreSQL puts it into a query that Citus has planned before
citus-view warn {subject} reads {objects} with the rights of its owner on the coordinator, and of the caller on workers
login-superuser warn {subject}, the user of db-uri, is a superuser: {program} init makes a login role that is not
login-inherits warn {subject}, the user of db-uri, always has the privileges of {roles}
nothing-readable warn {subject} may not read {objects}
sequence-usage warn {roles} may insert into {objects}, but not use the sequence {subject}
secret-readable warn {roles} may read {objects} of {subject}, which look like secrets: grant the other columns alone
view-owner-rights warn {subject} reads {objects} with the rights of its owner, so policies do not apply to callers{invoker}
definer-search-path warn {subject} is SECURITY DEFINER without a search_path: callers choose which objects it uses
session-state info {subject} leaves {objects} to its session, which later transactions do not see
truncate warn {subject} may truncate {objects}, which policies do not restrict
rls-without-policy info {subject} has row-level security and no policy: only its owner sees rows
policy-without-rls error {subject} has no row-level security, so its policies have no effect: {objects}
policy-function error {roles} may not call {subject}, so requests on {objects} fail: a policy calls it
policy-user-metadata error the policy {subject} reads user_metadata, which users change: use app_metadata
restrictive-only warn no row of {subject} passes for {objects} of {roles}: all policies are restrictive
select-policy-missing warn {objects} of {roles} finds no row of {subject}: no policy for SELECT applies
policy-without-grant warn the policy {subject} names {roles}, without the privilege: {objects}
write-policy-true warn the policy {subject} is true for {objects} of {roles}: name the rows
definer-callable warn/info {roles} may call {subject}, which runs with the rights of its owner
copy-exposed warn {roles} may read all rows of {subject}, past policies: they come from {objects}
policy-volatile warn the policy {subject} calls {objects} for each row: VOLATILE forbids to do it once
policies-merge info {objects} on {subject} are evaluated together for {roles}: make them one, or separate them
foreign-key-index info no index begins with the columns of {subject}: embeds and deletes scan the table
live-trigger warn live queries see changes of {subject} at live-recheck alone: it has no trigger
index-duplicate info the index {subject} finds the rows that {objects} finds
no-primary-key info {subject} has no primary key: requests have neither PUT nor cursors
`;

const parts: Readonly<Record<string, (values: FindingValues) => string>> = {
  subject: ({ subject }) => subject,
  roles: ({ roles }) => list(roles),
  objects: ({ objects }) => list(objects),
  login: ({ catalogue }) => catalogue.login,
  program: ({ program }) => program,
  near: ({ subject, catalogue }) => suggestion(subject, catalogue.schemas),
  filled: ({ catalogue: { filledSchemas } }) =>
    filledSchemas.length === 0 ? "" : `; schemas that have some: ${filledSchemas.join(", ")}`,
  // Without SQL, the message names `init`: the role is the login role, or PostgreSQL does not alter it.
  init: ({ hasSql, program }) => hasSql ? "" : `; ${program} init makes a role that is safe to use`,
  invoker: ({ hasSql }) => hasSql ? "" : "; PostgreSQL 15 and later have security_invoker",
  function: missingFunction,
  owner: ({ subject, roles, objects }) =>
    roles.length === 0
      ? `${subject} owns ${list(objects)}`
      : `${subject} is a member of ${list(roles)}, the owner of ${list(objects)}`,
  writes: unboundWrites,
};

function missingFunction({ subject, roles, objects, catalogue }: FindingValues): string {
  const [name, signature, procedure] = objects;
  if (signature) return `${list(roles)} may not call ${signature}, the ${subject}`;
  if (procedure) return `${name}, the ${subject}, is a procedure: it must be a function`;
  return `${name}, the ${subject}, does not exist` + functionSuggestion(name!, catalogue.functions);
}

function unboundWrites({ subject, roles, objects: [first, ...others] }: FindingValues): string {
  const every = `${list(roles)} may write every row of ${subject}: `;
  const past = "with the rights of its owner, past policies";
  if (first === undefined) return `${every}add policies that name the rows`;
  if (first !== null) return `${every}the view writes ${list([first, ...others])} ${past}`;
  return `${list(roles)} may write rows that ${subject} does not show: the view writes ` +
    `${list(others)} ${past}`;
}

/** Returns the findings of the catalogue, in the order of the table. Advice begins with `program`,
 * the words that start the program. */
export function catalogueFindings(
  catalogue: Catalogue,
  program: string,
): readonly Finding[] {
  return texts.trim().split("\n").flatMap((line) => {
    const [, name = "", levels = "", text = ""] = /^(\S+) (\S+) (.*)$/.exec(line)!;
    const [level, others = level] = levels.split("/") as FindingLevel[];
    return catalogue.rows.filter((row) => row[0] === name).map(
      ([, anonymous, subject, roles, objects, statements]): Finding => {
        const hasSql = statements.length > 0;
        const values = { subject, roles, objects, hasSql, catalogue, program };
        return {
          name,
          level: (anonymous ? level : others)!,
          subject,
          message: text.replace(/\{(\w+)\}/g, (_, part: string) => parts[part]!(values)),
          sql: hasSql ? statements.join("\n") : null,
        };
      },
    );
  });
}

/** Maximum number of names in a message. */
const maxNames = 3;

/** Returns `a, b and c`, or the first names and the number of remaining names. */
export function list(names: readonly (string | null)[]): string {
  const first = names.slice(0, maxNames);
  const more = names.length - first.length;
  if (more > 0) return `${first.join(", ")} and ${more} more`;
  return first.length < 2 ? first.join() : `${first.slice(0, -1).join(", ")} and ${first.at(-1)}`;
}

/** Suggests a function name. A name without a schema is compared with names without their schemas. */
function functionSuggestion(quoted: string, functions: readonly string[]): string {
  const name = unquoted(quoted);
  if (name.includes(".")) return suggestion(name, functions);
  const last = (qualified: string) => qualified.slice(qualified.lastIndexOf(".") + 1);
  const match = nearest(name, functions.map(last));
  const qualified = functions.find((each) => last(each) === match);
  return qualified === undefined ? "" : `; did you mean ${qualified}?`;
}

function suggestion(name: string, candidates: readonly string[]): string {
  const match = nearest(unquoted(name), candidates);
  return match === null ? "" : `; did you mean ${match}?`;
}

/** Removes the quotes of SQL names, because options name schemas and functions without quotes. */
function unquoted(name: string): string {
  return name.replace(/"((?:[^"]|"")*)"/g, (_, inner: string) => inner.replaceAll('""', '"'));
}

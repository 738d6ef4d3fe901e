/** Makes the choices of `svc init` from flags, from answers on a terminal, or from defaults. @module */
import { nearest } from "../../../base/lib/nearest.ts";
import { counted } from "../../../base/lib/printable.ts";
import { CannotConnectError } from "../../../base/errors/connect_error.ts";
import { print } from "../../../base/observe/output.ts";
import { withServer } from "../../../database/with_server.ts";
import type { CommandCall } from "../../../api/command.ts";
import {
  type Choices,
  defaultNames,
  nameOfOwned,
  ownable,
  type OwnedTable,
  pickOwned,
  pickRelations,
  pickSchemas,
  roleProblem,
  sameRoleProblem,
} from "./choices.ts";
import {
  readServer,
  readTarget,
  type RelationFacts,
  type ServerFacts,
  type TargetFacts,
  type TargetNames,
} from "./facts.ts";
import {
  filledSchemas,
  likelySchema,
  type SchemaSize,
} from "../../../state/schema_cache/likely_schema.ts";
import { idempotencyTable, theseSchemas } from "./init_sql.ts";
import { ask, confirm, isInteractive } from "./prompt.ts";

/** The choices, and the data on which they are based. */
export interface ReadChoices {
  readonly choices: Choices;
  readonly facts: TargetFacts;
  readonly server: ServerFacts;
}

/** Reads the server and makes the choices. `knownLogins` are users with a known password. Throws an
 * `Error` for an unsuitable flag. */
export async function readChoices(
  uri: string,
  call: CommandCall,
  knownLogins: readonly string[],
): Promise<ReadChoices> {
  return await withServer(uri, async (database) => {
    const server = await readServer(database).catch((thrown) => {
      throw new CannotConnectError(thrown);
    });
    const names = chooseNames(call, server, defaultLogin(server, knownLogins));
    const facts = await readTarget(database, names);
    return { choices: chooseRelations(call, names, facts), facts, server };
  });
}

/** Returns `authenticator`. All databases of a server share roles. If this role exists with an unknown
 * password, returns a separate role for the database, such as `authenticator_shop`. */
function defaultLogin({ database, loginRoles }: ServerFacts, logins: readonly string[]): string {
  const { loginRole } = defaultNames;
  const isUsable = logins.includes(loginRole) || !loginRoles.includes(loginRole);
  return isUsable ? loginRole : `${loginRole}_${database}`;
}

function asksFor({ flags }: CommandCall): boolean {
  return isInteractive() && !flags.has("--yes");
}

function chooseNames(
  call: CommandCall,
  { schemas }: ServerFacts,
  likelyLogin: string,
): TargetNames {
  const { config, flags } = call;
  const asks = asksFor(call);
  const choose = nameChooser(asks);
  const chosenSchemas = chooseSchemas(config.flags.get("db-schemas")?.value, schemas, asks);
  const loginRole = choose(
    flags.get("--login-role"),
    "Role that the service logs in as",
    likelyLogin,
    roleProblem,
  );
  const anonRole = choose(
    config.flags.get("db-anon-role")?.value,
    "Role of requests without a token",
    defaultNames.anonRole,
    roleProblem,
  );
  const user = choose(
    flags.get("--user-role"),
    "Role of requests with a token, or none",
    asks ? defaultNames.userRole : "none",
    (name) => name === "none" ? null : roleProblem(name),
  );
  const userRole = user === "none" ? null : user;
  const names = { schemas: chosenSchemas, loginRole, anonRole, userRole };
  const problem = sameRoleProblem(names);
  if (problem !== null) throw new Error(problem);
  const { schema } = idempotencyTable;
  if (flags.has("--idempotency") && chosenSchemas.includes(schema)) {
    throw new Error(`--idempotency makes a table that must not be served, in the schema ${schema}`);
  }
  return names;
}

type Check = (name: string) => string | null;

/** Returns a function that takes a name from a flag, an answer or the fallback, and checks it. */
function nameChooser(asks: boolean) {
  return (flag: string | undefined, question: string, fallback: string, check: Check) => {
    const accept = (name: string) => {
      const problem = check(name);
      if (problem !== null) throw new Error(problem);
      return name;
    };
    return flag === undefined && asks ? ask(question, fallback, accept) : accept(flag ?? fallback);
  };
}

/** Returns the schemas from the flag or the answer. Otherwise chooses the likely one and prints it. */
function chooseSchemas(
  flag: string | undefined,
  schemas: readonly SchemaSize[],
  asks: boolean,
): readonly string[] {
  const likely = likelySchema(schemas) ?? defaultNames.schema;
  const existing = schemas.map(({ name }) => name);
  if (flag !== undefined) return printMissing(pickSchemas(flag, existing), existing);
  if (!asks) {
    if (filledSchemas(schemas).length > 1) {
      printSchemas(schemas);
      print(`The file serves ${likely}; --schemas=${likely},… serves several.\n`);
    }
    return [likely];
  }
  printSchemas(schemas);
  return ask(
    "Schemas to serve, with commas",
    likely,
    (text) => printMissing(pickSchemas(text, existing), existing),
  );
}

/** Returns `names`, and prints which of them do not exist yet as schemas. */
function printMissing(names: readonly string[], schemas: readonly string[]): readonly string[] {
  for (const name of names.filter((each) => !schemas.includes(each))) {
    const near = nearest(name, schemas);
    const hint = near === null ? "" : `; did you mean ${near}?`;
    print(`  the schema ${name} does not exist: the SQL creates it${hint}\n`);
  }
  return names;
}

function printSchemas(schemas: readonly SchemaSize[]): void {
  const lines = filledSchemas(schemas).map(({ name, relations, functions }) =>
    `  ${name}: ${counted(relations, "relation")}, ${counted(functions, "function")}\n`
  );
  print(`Schemas:\n${lines.join("") || "  none has a relation or a function\n"}`);
}

function chooseRelations(call: CommandCall, names: TargetNames, facts: TargetFacts): Choices {
  const { flags } = call;
  const asks = asksFor(call);
  const [readFlag, writeFlag] = [flags.get("--grant"), flags.get("--grant-write")];
  const needsUser = ["--grant-write", "--grant-user", "--owner"]
    .find((flag) => (flags.get(flag) ?? "none") !== "none");
  if (needsUser !== undefined && names.userRole === null) {
    throw new Error(`${needsUser} needs --user-role, the role of requests with a token`);
  }
  const writableRelations = facts.relations.filter(({ isWritable }) => isWritable);
  if (asks && readFlag === undefined) printRelations(facts.relations);
  const readable = chooseList(readFlag, facts.relations, asks, `${names.anonRole} may read`);
  const ofUser = (flag: string | undefined, relations: readonly RelationFacts[], verb: string) =>
    names.userRole === null
      ? []
      : chooseList(flag, relations, asks, `${names.userRole} may ${verb}`);
  const others = facts.relations.filter((relation) => !readable.includes(relation));
  const userReadable = ofUser(flags.get("--grant-user"), others, "read, besides");
  const writable = ofUser(writeFlag, writableRelations, "write");
  const granted = facts.relations
    .filter((relation) =>
      [readable, userReadable, writable].some((list) => list.includes(relation))
    );
  return {
    ...names,
    readable,
    userReadable,
    owned: names.userRole === null ? [] : chooseOwned(flags.get("--owner"), granted, asks),
    writable,
    revokesFunctions: revokesFunctions(call, facts, { asks, schemas: names.schemas }),
    keepsAnswers: flags.has("--idempotency"),
    usesCitus: flags.has("--citus"),
  };
}

function chooseList(
  flag: string | undefined,
  relations: readonly RelationFacts[],
  asks: boolean,
  subject: string,
): readonly RelationFacts[] {
  if (flag !== undefined || !asks || relations.length === 0) {
    return pickRelations(flag ?? "none", relations);
  }
  return ask(
    `${subject}: all, all except …, none, or names with commas (* fits any)`,
    "none",
    (text) => pickRelations(text, relations),
  );
}

function chooseOwned(
  flag: string | undefined,
  granted: readonly RelationFacts[],
  asks: boolean,
): readonly OwnedTable[] {
  if (flag !== undefined || !asks || ownable(granted).length === 0) {
    return pickOwned(flag ?? "none", granted);
  }
  const likely = ownable(granted).filter(({ column }) => column.refersToUser);
  if (likely.length > 0) {
    print(`Perhaps owners of rows:\n  ${likely.map(nameOfOwned).join(", ")}\n`);
  }
  return ask(
    "Rows that belong to the user of the token's claim sub: none, or table.column with commas",
    "none",
    (text) => pickOwned(text, granted),
  );
}

/** Maximum number of relation names in a question. */
const maxPrinted = 60;

function printRelations(relations: readonly RelationFacts[]): void {
  if (relations.length === 0) return;
  const labels = relations.slice(0, maxPrinted).map(({ label }) => label).join(", ");
  const more = relations.length - maxPrinted;
  print(`Relations:\n  ${labels}${more > 0 ? `, and ${more} more` : ""}\n`);
}

function revokesFunctions(
  { flags }: CommandCall,
  facts: TargetFacts,
  { asks, schemas }: { readonly asks: boolean; readonly schemas: readonly string[] },
): boolean {
  if (flags.has("--revoke-functions")) return true;
  if (!asks || facts.publicFunctions === 0) return false;
  const functions = counted(facts.publicFunctions, "function");
  return confirm(
    `Every role may call ${functions} of ${theseSchemas(schemas.length)}. Revoke that?`,
  );
}

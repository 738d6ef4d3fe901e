/** Makes the choices of `svc init` by flags, by questions on a terminal, or by defaults. @module */
import { nearest } from "../../config/nearest.ts";
import { CannotConnectError } from "../connect_error.ts";
import { print } from "../output.ts";
import type { CommandCall } from "../command.ts";
import {
  type Choices,
  counted,
  likelySchema,
  nameOfOwned,
  ownable,
  type OwnedTable,
  pickOwned,
  pickRelations,
  roleProblem,
  sameRoleProblem,
  schemaProblem,
  splitNames,
  unknownTarget,
} from "./choices.ts";
import {
  readServer,
  readTarget,
  type RelationFacts,
  type SchemaFacts,
  type ServerFacts,
  type TargetFacts,
  type TargetNames,
} from "./facts.ts";
import { defaultNames, freeLoginRole } from "./default_names.ts";
import { idempotencyTable } from "./idempotency_sql.ts";
import { ask, confirm, isInteractive } from "./prompt.ts";
import { withServer } from "./server.ts";

/** The choices, and the facts that they were made from. */
export interface ReadChoices {
  readonly choices: Choices;
  readonly facts: TargetFacts;
  /** Null if the server cannot be reached. */
  readonly server: ServerFacts | null;
  /** Reason why the server cannot be reached; empty otherwise. */
  readonly problem: string;
  /** Text about the choices that was not printed yet. */
  readonly note: string;
}

/**
 * Reads the server and makes the choices. `knownLogins` are users whose passwords are known. Throws an
 * `Error` for a flag that does not fit.
 */
export async function readChoices(
  uri: string,
  call: CommandCall,
  knownLogins: readonly string[],
): Promise<ReadChoices> {
  return await withServer(uri, async (database) => {
    let server: ServerFacts;
    try {
      server = await readServer(database);
    } catch (thrown) {
      return choicesWithoutServer(call, new CannotConnectError(thrown).message);
    }
    const asks = isInteractive() && !call.flags.has("--yes");
    const existing = server.loginRoles;
    const loginRole = freeLoginRole(server.database, { existing, known: knownLogins });
    const note = call.flags.has("--login-role") ? "" : loginNote(loginRole);
    if (asks) print(note);
    const names = chooseNames(call, { schemas: server.schemas, loginRole, asks });
    const facts = await readTarget(database, names);
    return {
      choices: chooseRelations(call, names, facts),
      facts,
      server,
      problem: "",
      note: asks ? "" : note,
    };
  });
}

/** Returns why the default login role is not the usual one; empty if it is. */
function loginNote(loginRole: string): string {
  if (loginRole === defaultNames.loginRole) return "";
  return `The role ${defaultNames.loginRole} exists, perhaps for another database, and its ` +
    `password is unknown here.\nThe service gets a login role of its own: ${loginRole}\n`;
}

function choicesWithoutServer(call: CommandCall, problem: string): ReadChoices {
  const names = chooseNames(call, {
    schemas: [],
    loginRole: defaultNames.loginRole,
    asks: false,
  });
  const listed = ["--grant", "--grant-write", "--grant-user"].map((flag) =>
    call.flags.get(flag) ?? "none"
  );
  const known = listed.filter((text) => text !== "none" && !/^all\b/.test(text)).flatMap(
    splitNames,
  );
  const facts = unknownTarget(names, Array.from(new Set(known)));
  const [read = "none", write = "none"] = listed;
  const choices = {
    ...names,
    readable: pickRelations(read, facts.relations),
    userReadable: pickRelations(call.flags.get("--grant-user") ?? "none", facts.relations),
    writable: pickRelations(write, facts.relations),
    owned: [],
    revokesFunctions: call.flags.has("--revoke-functions"),
    keepsAnswers: call.flags.has("--idempotency"),
    usesCitus: call.flags.has("--citus"),
  };
  return { choices, facts, server: null, problem, note: "" };
}

function chooseNames(
  { config, flags }: CommandCall,
  { schemas, loginRole: likelyLogin, asks }: {
    readonly schemas: readonly SchemaFacts[];
    /** Default login role. */
    readonly loginRole: string;
    readonly asks: boolean;
  },
): TargetNames {
  const schemaFlag = config.flags.get("db-schemas")?.value;
  const anonFlag = config.flags.get("db-anon-role")?.value;
  if (asks && schemaFlag === undefined) printSchemas(schemas);
  const choose = (flag: string | undefined, question: string, fallback: string, check: Check) =>
    flag === undefined && asks
      ? ask(question, fallback, (text) => accepted(text, check))
      : accepted(flag ?? fallback, check);
  const asksSchema = asks && schemaFlag === undefined;
  const schema = choose(
    schemaFlag,
    "Schema to serve",
    likelySchema(schemas),
    asksSchema ? confirmedSchema(schemas) : schemaProblem,
  );
  if (schemas.length > 0 && !schemas.some(({ name }) => name === schema)) {
    const near = asksSchema ? null : nearSchema(schema, schemas);
    print(
      `  the schema ${schema} does not exist: the SQL creates it` +
        `${near === null ? "" : `; did you mean ${near}?`}\n`,
    );
  }
  const loginFlag = flags.get("--login-role");
  const loginRole = choose(
    loginFlag,
    "Role that the service logs in as",
    likelyLogin,
    roleProblem,
  );
  const anonRole = choose(
    anonFlag,
    "Role of requests without a token",
    defaultNames.anonRole,
    roleProblem,
  );
  const userFlag = flags.get("--user-role");
  const user = userFlag === undefined && !asks ? "none" : choose(
    userFlag,
    "Role of requests with a token, or none",
    defaultNames.userRole,
    userProblem,
  );
  const names = { schema, loginRole, anonRole, userRole: user === "none" ? null : user };
  const problem = sameRoleProblem(names);
  if (problem !== null) throw new Error(problem);
  if (flags.has("--idempotency") && schema === idempotencyTable.schema) {
    throw new Error(`--idempotency makes a table that must not be served, in the schema ${schema}`);
  }
  return names;
}

type Check = (name: string) => string | null;

function userProblem(name: string): string | null {
  return name === "none" ? null : roleProblem(name);
}

/** Accepts a name that resembles a schema only if it is typed twice. */
function confirmedSchema(schemas: readonly SchemaFacts[]): Check {
  let last: string | null = null;
  return (name) => {
    const problem = schemaProblem(name);
    if (problem !== null) return problem;
    const near = name === last ? null : nearSchema(name, schemas);
    last = name;
    return near === null
      ? null
      : `the schema ${name} does not exist; did you mean ${near}? To create it, type ${name} again`;
  };
}

/** Returns the schema that the name of a missing one resembles, or null. */
function nearSchema(missing: string, schemas: readonly SchemaFacts[]): string | null {
  const names = schemas.map(({ name }) => name);
  return names.includes(missing) ? null : nearest(missing, names);
}

function accepted(name: string, check: Check): string {
  const problem = check(name);
  if (problem !== null) throw new Error(problem);
  return name;
}

function printSchemas(schemas: readonly SchemaFacts[]): void {
  const filled = schemas.filter(({ relations, functions }) => relations + functions > 0);
  const lines = filled.map(({ name, relations, functions }) =>
    `  ${name}: ${counted(relations, "relation")}, ${counted(functions, "function")}\n`
  );
  print(`Schemas:\n${lines.join("") || "  none has a relation or a function\n"}`);
}

function chooseRelations(call: CommandCall, names: TargetNames, facts: TargetFacts): Choices {
  const { flags } = call;
  const asks = isInteractive() && !flags.has("--yes");
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
    revokesFunctions: revokesFunctions(call, facts, asks),
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

/** Columns that are often those of owners. */
const ownerNames = /(^|_)(owner|user|author|customer|account|member|sub)(_id)?$|^created_by$/;

function chooseOwned(
  flag: string | undefined,
  granted: readonly RelationFacts[],
  asks: boolean,
): readonly OwnedTable[] {
  if (flag !== undefined || !asks || ownable(granted).length === 0) {
    return pickOwned(flag ?? "none", granted);
  }
  const likely = ownable(granted).filter(({ column }) => ownerNames.test(column.name));
  if (likely.length > 0) {
    print(`Perhaps owners of rows:\n  ${likely.map(nameOfOwned).join(", ")}\n`);
  }
  return ask(
    "Rows that belong to the user of the token's claim sub: none, or table.column with commas",
    "none",
    (text) => pickOwned(text, granted),
  );
}

function printRelations(relations: readonly RelationFacts[]): void {
  if (relations.length === 0) return;
  print(`Relations:\n  ${relations.map(({ name }) => name).join(", ")}\n`);
}

function revokesFunctions({ flags }: CommandCall, facts: TargetFacts, asks: boolean): boolean {
  if (flags.has("--revoke-functions")) return true;
  if (!asks || facts.publicFunctions === 0) return false;
  return confirm(
    `Every role may call ${
      counted(facts.publicFunctions, "function")
    } of this schema. Revoke that?`,
  );
}

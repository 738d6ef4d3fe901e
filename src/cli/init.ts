/** `svc init`: writes a configuration file and the SQL for roles and privileges, and applies the
 * SQL if the caller confirms it. @module */
import { type Command, type CommandCall, flagsOf } from "./command.ts";
import { runInit } from "./init/run_init.ts";

/** The command. */
export const initCommand: Command = {
  name: "init",
  doc: "Write a configuration file and SQL for roles and grants; apply the SQL with --apply",
  flags: flagsOf({
    "--apply[=URI]": "Show the SQL, ask, and apply it; as the user of URI, such as a superuser",
    "--out=FILE": "Default: svc.conf",
    "--sql=FILE": "Default: svc-init.sql",
    "--login-role=ROLE": "Role that the service logs in as; default: authenticator",
    "--user-role=ROLE": "Role of requests with a token; default: none",
    "--grant=LIST":
      "Relations that all may read: none, all, all except, or names with * and commas",
    "--grant-user=LIST":
      "Relations that only the user role may read, in the same form; default: none",
    "--owner=LIST":
      "Columns with the claim sub of a row's owner, such as orders.owner: writes policies",
    "--grant-write=LIST": "Relations that the user role may write, in the same form; default: none",
    "--revoke-functions": "Take from PUBLIC the right to call the functions of the schema",
    "--idempotency": "Make the table that keeps answers to writes with an Idempotency-Key",
    "--citus": "Let the roles of requests log in, as Citus needs it; without a password",
    "--live=LIST":
      "Only print the SQL that records changes of tables for live queries: TABLE[:COLUMN],…",
    "--yes": "Overwrite files, and apply without a question",
  }),
  run: (call: CommandCall) => runInit(call),
};

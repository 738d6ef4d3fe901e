/** `svc init`: writes a configuration file and the SQL for roles and privileges, and applies the
 * SQL if the caller confirms it. @module */
import type { Command, CommandCall } from "./command.ts";
import { runInit } from "./init/run_init.ts";

/** The command. */
export const initCommand: Command = {
  name: "init",
  doc: "Write a configuration file and SQL for roles and grants; apply the SQL with --apply",
  flags: [
    {
      name: "--apply",
      value: "optional",
      placeholder: "URI",
      doc: "Show the SQL, ask, and apply it; as the user of URI, such as a superuser",
    },
    { name: "--out", value: "required", placeholder: "FILE", doc: "Default: svc.conf" },
    { name: "--sql", value: "required", placeholder: "FILE", doc: "Default: svc-init.sql" },
    {
      name: "--login-role",
      value: "required",
      placeholder: "ROLE",
      doc: "Role that the service logs in as; default: authenticator",
    },
    {
      name: "--user-role",
      value: "required",
      placeholder: "ROLE",
      doc: "Role of requests with a token; default: none",
    },
    {
      name: "--grant",
      value: "required",
      placeholder: "LIST",
      doc: "Relations that all may read: none, all, all except, or names with * and commas",
    },
    {
      name: "--grant-user",
      value: "required",
      placeholder: "LIST",
      doc: "Relations that only the user role may read, in the same form; default: none",
    },
    {
      name: "--owner",
      value: "required",
      placeholder: "LIST",
      doc: "Columns with the claim sub of a row's owner, such as orders.owner: writes policies",
    },
    {
      name: "--grant-write",
      value: "required",
      placeholder: "LIST",
      doc: "Relations that the user role may write, in the same form; default: none",
    },
    {
      name: "--revoke-functions",
      value: "none",
      doc: "Take from PUBLIC the right to call the functions of the schema",
    },
    {
      name: "--idempotency",
      value: "none",
      doc: "Make the table that keeps answers to writes with an Idempotency-Key",
    },
    {
      name: "--citus",
      value: "none",
      doc: "Let the roles of requests log in, as Citus needs it; without a password",
    },
    {
      name: "--live",
      value: "required",
      placeholder: "LIST",
      doc: "Only print the SQL that records changes of tables for live queries: TABLE[:COLUMN],…",
    },
    { name: "--yes", value: "none", doc: "Overwrite files, and apply without a question" },
  ],
  run: (call: CommandCall) => runInit(call),
};

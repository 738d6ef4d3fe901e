/** The table of commands, in the order of `--help`. Each command is a module of this folder.
 * @module */
import { accessCommand } from "../../wings/audit/commands/access.ts";
import { checkCommand } from "../../wings/audit/commands/check.ts";
import type { Command } from "../../api/command.ts";
import { contractCommand, diffCommand } from "../../wings/audit/commands/contract.ts";
import { demoCommand } from "./demo.ts";
import { initCommand } from "./init/run_init.ts";
import { testCommand } from "../../wings/audit/commands/policy_tests.ts";
import { shadowCommand } from "../../wings/shadow/command.ts";
import { sqlCommand } from "./sql.ts";
import { tokenCommand } from "./token.ts";
import { whyCommand } from "../../wings/audit/commands/why.ts";

export const commands: readonly Command[] = [
  demoCommand,
  initCommand,
  checkCommand,
  accessCommand,
  testCommand,
  whyCommand,
  contractCommand,
  diffCommand,
  shadowCommand,
  sqlCommand,
  tokenCommand,
];

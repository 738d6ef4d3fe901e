/** The table of commands, in the order of `--help`. Each command is a module of this folder.
 * @module */
import { accessCommand } from "./access.ts";
import { checkCommand } from "./check.ts";
import type { Command } from "../api/command.ts";
import { contractCommand, diffCommand } from "./contract.ts";
import { demoCommand } from "./demo.ts";
import { initCommand } from "./init/run_init.ts";
import { testCommand } from "./policy_tests.ts";
import { shadowCommand } from "./shadow.ts";
import { sqlCommand } from "./sql.ts";
import { tokenCommand } from "./token.ts";
import { whyCommand } from "./why.ts";

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

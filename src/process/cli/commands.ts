/** The table of commands, in the order of `--help`: commands of the program, and commands of wings.
 * @module */
import type { Command } from "../../api/command.ts";
import { wings } from "../wings.ts";
import { demoCommand } from "./demo.ts";
import { initCommand } from "./init/run_init.ts";
import { keyCommand } from "./key.ts";
import { sqlCommand } from "./sql.ts";
import { tokenCommand } from "./token.ts";
import { typesCommand } from "./types.ts";

export const commands: readonly Command[] = [
  demoCommand,
  initCommand,
  ...wings.flatMap(({ commands = [] }) => commands),
  typesCommand,
  sqlCommand,
  tokenCommand,
  keyCommand,
];

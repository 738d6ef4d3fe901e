/** The table of commands, in the order of `--help`: commands of the program, and commands of wings.
 * @module */
import type { Command } from "../../api/command.ts";
import { wings } from "../wings.ts";
import { demoCommand } from "./demo.ts";
import { keyCommand } from "./key.ts";
import { sqlCommand } from "./sql.ts";
import { tokenCommand } from "./token.ts";

export const commands: readonly Command[] = [
  demoCommand,
  ...wings.flatMap(({ commands = [] }) => commands),
  sqlCommand,
  tokenCommand,
  keyCommand,
];

/**
 * The table of commands, in the order of `--help`. Each command is a module of this folder.
 *
 * @module
 */
import type { Command } from "./command.ts";

export const commands: readonly Command[] = [];

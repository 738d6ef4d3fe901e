/**
 * Runs the program to its end in an empty folder, for tests of commands.
 *
 * @module
 */

import { programCommand } from "./program_command.ts";

/** How a run ended. */
export interface EndedProgram {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder in which the program runs. Disposing of it removes it. */
export interface ProgramFolder extends AsyncDisposable {
  readonly path: string;
  /** Runs the program without a terminal. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<EndedProgram>;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
}

/** Makes an empty folder. */
export async function programFolder(): Promise<ProgramFolder> {
  const path = await Deno.makeTempDir({ prefix: "svc_program_" });
  return {
    path,
    run: (args, env = {}) => runIn(path, args, env),
    read: (file) => Deno.readTextFile(`${path}/${file}`),
    write: (file, text) => Deno.writeTextFile(`${path}/${file}`, text),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

async function runIn(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<EndedProgram> {
  const [command, ...words] = programCommand(args);
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: words,
    cwd,
    env: { ...env },
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

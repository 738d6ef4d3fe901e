/** Runs the program to its end in an empty folder, for tests of commands. @module */

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
  /** Runs the program on a terminal, and types a line whenever it waits. Needs `script`. */
  runOnTerminal(
    args: readonly string[],
    answers: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number; readonly output: string }>;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
}

/** Makes an empty folder. */
export async function programFolder(): Promise<ProgramFolder> {
  const path = await Deno.makeTempDir({ prefix: "svc_program_" });
  return {
    path,
    run: (args, env = {}) => runIn(path, args, env),
    runOnTerminal: (args, answers, env) => runOnTerminal({ cwd: path, args, answers, env }),
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

/** Returns whether `script` of util-linux is there, which runs a program on a terminal. */
export function findScript(): boolean {
  try {
    const { stdout } = new Deno.Command("script", { args: ["--version"] }).outputSync();
    return new TextDecoder().decode(stdout).includes("util-linux");
  } catch {
    return false;
  }
}

async function runOnTerminal(
  { cwd, args, answers, env }: {
    readonly cwd: string;
    readonly args: readonly string[];
    readonly answers: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<{ readonly code: number; readonly output: string }> {
  const command = programCommand(args).map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(
    " ",
  );
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--echo=always", "--command", command, "/dev/null"],
    cwd,
    env: { ...env, SHELL: "/bin/sh" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = child.stdin.getWriter();
  let output = "";
  let unanswered = "";
  let next = 0;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk;
    unanswered += chunk;
    // A question ends with a space, at the end of all output so far.
    if (!/[:\]] $/.test(unanswered) || next >= answers.length) continue;
    unanswered = "";
    await input.write(new TextEncoder().encode(`${answers[next++]}\n`));
  }
  await input.close().catch(() => {});
  return { code: (await child.status).code, output };
}

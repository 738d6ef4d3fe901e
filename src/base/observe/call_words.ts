/** The words that a user types to run the program, for advice in logs and findings. @module */

/** The words that run the program with the configuration of this process. */
export interface CallWords {
  /** The words before a command: `svc`, `npx svc-api`. */
  readonly program: string;
  /** The argument that names the configuration, quoted for the shell. Default: empty. */
  readonly source: string;
}

/** Returns the line that runs a command: `svc check svc.conf`. */
export function callText({ program, source }: CallWords, command: string): string {
  return [program, command, source].filter((words) => words !== "").join(" ");
}

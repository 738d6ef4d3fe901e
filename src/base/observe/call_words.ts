/** The words by which a user calls the program, for advice in logs and findings. @module */

/** The words of a call with the configuration of this process. */
export interface CallWords {
  /** Start the program: `svc`, `npx svc-api`. */
  readonly program: string;
  /** The argument that names the configuration, quoted for the shell. Default: empty. */
  readonly source: string;
}

/** Returns the call of a command: `svc check svc.conf`. */
export function callText({ program, source }: CallWords, command: string): string {
  return [program, command, source].filter((words) => words !== "").join(" ");
}

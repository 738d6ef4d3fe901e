/** The commands to run after `svc init`, for the terminal. @module */
import { programCall } from "../../../base/lib/program_call.ts";
import { shellWord } from "../../../base/lib/shell_word.ts";
import type { Choices } from "./choices.ts";
import type { InitFiles } from "./init_files.ts";
import { loginOf, loginUri } from "./login.ts";

export interface NextSteps {
  readonly choices: Choices;
  readonly files: InitFiles;
  readonly isApplied: boolean;
  /** Whether the user of `uri` may create roles and grant privileges on the schema. */
  readonly mayApply: boolean;
  readonly uri: string;
  /** Port of the API. */
  readonly port: number;
}

export function nextSteps(
  { choices, files, isApplied, mayApply, uri, port }: NextSteps,
): string {
  const program = programCall();
  const origin = `http://127.0.0.1:${port}`;
  const [read] = choices.readable;
  const conf = shellWord(files.conf);
  const steps: (readonly [string, string])[] = [];
  if (!isApplied) {
    steps.push(
      mayApply ? ["Apply the SQL", applyCall(uri, files)] : [
        `Apply the SQL, as ${whoApplies}`,
        superuserCall(uri, files),
      ],
    );
  }
  steps.push(["Start the service", `${program} ${conf}`]);
  if (read !== undefined) {
    const name = encodeURIComponent(read.name).replaceAll("'", "%27");
    const profile = read.schema === choices.schemas[0]
      ? ""
      : ` -H ${shellWord(`Accept-Profile: ${read.schema}`)}`;
    steps.push(["Read rows", `curl '${origin}/${name}?limit=3'${profile}`]);
  }
  if (choices.userRole !== null) {
    const [owned] = choices.owned;
    const call = `${program} token --role=${shellWord(choices.userRole)}`;
    steps.push(
      owned === undefined ? ["Make a token", `${call} ${conf}`] : [
        `Make a token, with a value of ${owned.relation.label}.${owned.column.name}`,
        `${call} --claim=sub=… ${conf}`,
      ],
    );
  }
  steps.push(["Check roles and privileges", `${program} check ${conf}`]);
  return `\n${steps.map(([purpose, command]) => `${purpose}:\n  ${command}\n`).join("")}`;
}

/** Phrase for users that may create roles and grant privileges on the schema. */
export const whoApplies = "a superuser, or as the schema's owner with CREATEROLE";

/** Returns the command that applies the files as the usual superuser. */
export function superuserCall(uri: string, files: InitFiles): string {
  const login = { user: "postgres", password: null, database: loginOf(uri).database };
  const flag = shellWord(`--apply=${loginUri(uri, login)}`);
  return `PGPASSWORD=… ${programCall()} init ${flag} ${applyFlags(files)}`.trimEnd();
}

function applyCall(uri: string, files: InitFiles): string {
  const { password, ...login } = loginOf(uri);
  const connection = password === null ? uri : loginUri(uri, { ...login, password: null });
  const variable = password === null ? "" : "PGPASSWORD=… ";
  return `${variable}${programCall()} init --apply ${applyFlags(files)}${shellWord(connection)}`;
}

function applyFlags({ conf, sql }: InitFiles): string {
  return (conf === "svc.conf" ? "" : `${shellWord(`--out=${conf}`)} `) +
    (sql === "svc-init.sql" ? "" : `${shellWord(`--sql=${sql}`)} `);
}

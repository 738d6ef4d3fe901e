/** The texts of `--help` and `--version`, and the usage line. @module */
import { svcDialect } from "../../base/dialect.ts";
import { version } from "../../base/version.ts";
import { modeFlags, serveFlagDocs } from "./arguments.ts";
import type { Command } from "../../api/command.ts";
import { usualFile } from "./usual_file.ts";
import { shortForms } from "./option_flags.ts";

export function versionText(): string {
  return `${svcDialect.displayName} ${version}\n`;
}

const targets = "[FILE | CONNECTION]";

/** Returns the usage line of a command, or of the whole program if `command` is null. */
export function usage(command: Command | null, commands: readonly Command[]): string {
  const token = svcDialect.productToken;
  if (command !== null) {
    const flags = command.flags.map(({ form }) => `[${form}] `).join("");
    const operands = command.operands === undefined ? "" : `[${command.operands.placeholder}]… `;
    return `Usage: ${token} ${command.name} ${flags}${operands}[--KEY=VALUE]… ${targets}\n`;
  }
  const flags = modeFlags.map(({ spellings }) => `[${spellings.join("|")}]`).join(" ");
  const words = commands.length === 0 ? "" : "[COMMAND] ";
  return `Usage: ${token} ${words}${flags} [--KEY=VALUE]… ${targets}\n`;
}

/** Returns the text of `--help` of a command, or of the whole program if `command` is null. */
export function helpText(command: Command | null, commands: readonly Command[]): string {
  const { productToken, displayName, environmentPrefix } = svcDialect;
  const title = command === null
    ? `${displayName} ${version} / create a REST API to an existing Postgres database`
    : `${productToken} ${command.name}: ${command.doc}`;
  const operands = command?.operands;
  const ownFlags = command === null
    ? modeFlags.map(({ spellings, doc }): HelpRow => [spellings.join(", "), doc])
    : command.flags.map(({ form, doc }): HelpRow => [form, doc]);
  const sections: readonly (readonly [title: string, rows: readonly HelpRow[]])[] = [
    ["Commands:", command === null ? commands.map(({ name, doc }) => [name, doc]) : []],
    ["Available options:", [
      ...(operands === undefined ? [] : [[operands.placeholder, operands.doc] as const]),
      ...(command?.readsUsualFile === false ? otherTargetRows : targetRows),
      ...ownFlags,
      ...(command === null ? serveFlagDocs : []),
      ...shortFormRows,
      keyRow,
    ]],
  ];
  const example = command?.example ?? "postgres://me@localhost:5432/shop";
  const filledSections = sections.filter(([, rows]) => rows.length > 0);
  return `${usage(command, commands)}
  ${title}

${filledSections.map(([head, rows]) => `${head}\n${table(rows)}\n`).join("\n")}
Example:
  ${productToken} ${example}

Every option of the file can also be set by an environment variable: db-uri by ${environmentPrefix}_DB_URI.
The documentation in the repository: ${command?.page ?? "docs/README.md"}
`;
}

type HelpRow = readonly [left: string, right: string];

const connectionRow: HelpRow = [
  "CONNECTION",
  "Database to use: postgres://user@host:5432/database, or host=… dbname=…",
];

const targetRows: readonly HelpRow[] = [
  ["FILE", `Path of the configuration file; default: ${usualFile}, if it exists`],
  connectionRow,
];

const otherTargetRows: readonly HelpRow[] = [
  ["FILE", "Path of the configuration file"],
  connectionRow,
];

const shortFormRows: readonly HelpRow[] = shortForms.map(({ name, key, placeholder }) => [
  `${name}=${placeholder}`,
  `The option ${key}`,
]);

const keyRow: HelpRow = ["--KEY=VALUE", "Any option of the file, such as --db-pool=20"];

function table(rows: readonly HelpRow[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

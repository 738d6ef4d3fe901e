/** The generated sections of `docs/`, in Markdown. @module */
import { environmentName } from "../../src/state/config/names.ts";
import { appSettings, rowsOf } from "../../src/state/config/options.ts";
import { allErrors, wingOptions } from "../../src/process/wings.ts";
import type { Option } from "../../src/state/config/options/option.ts";
import { defaultText } from "./default_text.ts";
import { svcDialect } from "../../src/base/dialect.ts";
import { statusBySqlstate } from "../../src/base/errors/sqlstate.ts";

/** The properties of each option in the reference; texts in Markdown. */
interface OptionFacts {
  readonly key: string;
  readonly doc: string;
  readonly type: string;
  readonly defaultText: string;
  readonly isReloadable: boolean;
  readonly environment: string;
  /** Name of the setting in the database; null where the option cannot be set there. */
  readonly setting: string | null;
  readonly aliases: readonly string[];
  readonly example: string;
}

/** Returns one subsection per option, in alphabetical order. */
export function optionSection(): string {
  const settings: OptionFacts = {
    ...appSettings,
    defaultText: "none",
    isReloadable: true,
    environment: environmentName(appSettings.environment),
    setting: null,
    aliases: [],
  };
  return [...rowsOf({ wingOptions }).map(([key, option]) => factsOf(key, option)), settings].map(
    subsection,
  ).join(
    "\n",
  );
}

function factsOf(key: string, option: Option<unknown>): OptionFacts {
  return {
    key,
    doc: option.doc,
    type: option.codec.type,
    defaultText: defaultText(key, option),
    isReloadable: option.reloadable,
    environment: environmentName(key),
    setting: option.inDatabase ? `${svcDialect.settingPrefix}.${key.replaceAll("-", "_")}` : null,
    aliases: option.aliases ?? [],
    example: `${key} = ${option.example}`,
  };
}

function subsection(facts: OptionFacts): string {
  const aliases = facts.aliases.map((alias) => `; alias ${code(alias)}`).join("");
  return `### ${facts.key.replaceAll("*", "\\*")}

${facts.doc}

- Type: ${facts.type}; default: ${facts.defaultText}; reloadable: ${
    facts.isReloadable ? "yes" : "no"
  }${aliases}
- Environment: ${code(facts.environment)}; in the database: ${
    facts.setting === null ? "no" : code(facts.setting)
  }
- Example: ${code(facts.example)}
`;
}

/** Returns the table of svc's errors. */
export function errorSection(): string {
  const rows = Object.values(allErrors).toSorted((one, other) => one.code < other.code ? -1 : 1);
  const cells = rows.map(({ code: number, status, condition }) => [
    code(svcDialect.errorPrefix + number),
    String(status),
    condition,
  ]);
  return table([["code", "status", "when"], ...cells]);
}

/** Returns the table of statuses by SQLSTATE. */
export function sqlstateSection(): string {
  const cells = statusBySqlstate.map(([prefix, status]) => [
    code(prefix.length < 5 ? `${prefix}*` : prefix),
    String(status),
  ]);
  return table([
    ["SQLSTATE", "status"],
    [code("42501"), "403 for a request with a token, 401 for an anonymous one"],
    [code("PTnnn"), "nnn"],
    ...cells,
  ]);
}

function table([head, ...body]: readonly (readonly string[])[]): string {
  return [head!, head!.map(() => "---"), ...body]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}

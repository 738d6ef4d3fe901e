/** Prints the configuration: the dump, the example file, the defaults in the documentation. @module
 */
import { redact } from "../../base/lib/redact.ts";
import { quote } from "./codecs.ts";
import { redactedIssuers } from "./jwt_issuers.ts";
import { appSettings, type Config, noWingOptions, rowsOf, valueOf } from "./options.ts";
import { isSameAs, ofDialect, type OptionTable, required } from "./options/option.ts";

/**
 * Returns the whole configuration as a file, sorted, with one `key = value` line per option and
 * application setting. Loading the file gives the same configuration. The file contains secrets.
 */
export function dumpConfig(config: Config): string {
  const context = { secretIsBase64: config.jwtSecretIsBase64 };
  const settings = config.appSettings.map(([name, value]) => `${name} = ${quote(value)}`);
  const lines = rowsOf(config).flatMap(([key, { codec, extension, default: fallback }]) => {
    const value = valueOf(config, key);
    if (extension && value === fallback) return [];
    return `${key} = ${value === null ? '""' : codec.print(value, context)}`;
  });
  return [...lines, ...settings].toSorted().join("\n") + "\n";
}

/** Returns the dump without passwords, secrets and values of application settings. */
export function redactedConfig(config: Config): string {
  const dump = dumpConfig({
    ...config,
    dbUri: redact(config.dbUri),
    dbChannelUri: config.dbChannelUri === null ? null : redact(config.dbChannelUri),
    dbReplicaUri: config.dbReplicaUri === null ? null : redact(config.dbReplicaUri),
    jwtIssuers: config.jwtIssuers === null ? null : redactedIssuers(config.jwtIssuers),
  });
  return dump.replace(
    /^(jwt-secret|admin-token|app\.settings\.[^=]*?) = (?!""$).*$/gm,
    '$1 = "***"',
  );
}

/** An option and its value, in the form that operators may see. */
export interface ShownOption {
  readonly key: string;
  /** TOML literal; `"***"` for secrets. */
  readonly value: string;
  /** Whether the value differs from the default. */
  readonly isChanged: boolean;
}

/** Returns the options of {@linkcode redactedConfig}, options with a changed value first. */
export function shownOptions(config: Config): readonly ShownOption[] {
  const options = redactedConfig(config).trimEnd().split("\n").map((line) => {
    const [, key = "", value = ""] = /^(.*?) = (.*)$/.exec(line) ?? [];
    return { key, value, isChanged: value !== defaultLiteral(key, config) };
  });
  return options.toSorted((a, b) => Number(b.isChanged) - Number(a.isChanged));
}

/** Returns the literal of an option's default; null if its default depends on the configuration. */
function defaultLiteral(key: string, config: Config): string | null {
  const row = rowsOf(config).find(([name]) => name === key)?.[1];
  if (row === undefined || row.default === required) return null;
  const { default: fallback, codec } = row;
  if (fallback === null) return '""';
  if (fallback === ofDialect) return quote(config.dialect.defaults[key] ?? "");
  const value = isSameAs(fallback) ? valueOf(config, fallback.sameAs) : fallback;
  return codec.print(value, { secretIsBase64: false });
}

/** Options that most configurations set. The example file begins with them, and comments out all other options. */
const firstKeys: readonly string[] = ["db-uri", "db-schemas", "db-anon-role", "jwt-secret"];

/** Returns a valid, commented configuration file with every option. */
export function exampleFile(wingOptions: OptionTable = noWingOptions): string {
  const rows = rowsOf({ wingOptions });
  const first = firstKeys.map((key) => rows.find(([name]) => name === key)!);
  const others = rows.filter(([key]) => !firstKeys.includes(key));
  const optionTexts = [...first, ...others].map(([key, option]) => {
    const mark = firstKeys.includes(key) ? "" : "# ";
    return `## ${option.doc}\n${mark}${key} = ${option.example}\n`;
  });
  return [...optionTexts, `## ${appSettings.doc}\n# ${appSettings.example}\n`].join("\n");
}

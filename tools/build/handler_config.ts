/** Writes the declaration of `HandlerConfig` for the npm package: an interface with the comments of
 * the table of options. @module */
import { camelCase } from "../../src/state/config/names.ts";
import { rowsOf } from "../../src/state/config/options.ts";
import { wingOptions } from "../../src/process/wings.ts";
import type { Option } from "../../src/state/config/options/option.ts";
import { defaultText } from "../docs/default_text.ts";

/** Options that only the process of svc uses. */
const ofProcess =
  /^(admin-server-|log-|metrics-|tenants?(-|$)|server-(header-timeout|host|idle-timeout|max-connections|port|reuseport|unix|workers)|db-embedded-init$)/;
/** Options that `HandlerOptions` describes itself. */
const described: ReadonlySet<string> = new Set(["db-uri", "db-schemas", "dialect", "jwt-secret"]);

const typesByName: ReadonlyMap<string, string> = new Map([
  ["integer", "number"],
  ["size", "number"],
  ["time", "number"],
  ["boolean", "boolean"],
  ["boolean or `auto`", 'boolean | "auto"'],
  ["list", "readonly string[]"],
  ["headers", "Readonly<Record<string, string>>"],
  ["function", "FunctionName"],
  ["table", "TableName"],
  ["JSON list of issuers, or `@file`", "readonly JwtIssuer[]"],
  ["JSON list of keys, or `@file`", "readonly ApiKey[]"],
]);

/** Returns the declaration of `src/process/handler_config.ts`. */
export function handlerConfig(): string {
  const fields = rowsOf({ wingOptions })
    .filter(([key]) => !ofProcess.test(key) && !described.has(key))
    .map(([key, option]) => field(key, option));
  return `${head}\n${fields.join("\n")}\n${tail}`;
}

const head = `/** The options that a handler shares with the configuration file. @module */
import type { ApiKey } from "../state/config/api_keys.ts";
import type { FunctionName, TableName } from "../state/config/codecs.ts";
import type { JwtIssuer } from "../state/config/jwt_issuers.ts";

/** Options of the configuration, named by their keys in camel case. */
export interface HandlerConfig {`;

const tail = `  /**
   * Settings that SQL reads with \`current_setting('app.settings.<name>', true)\`, as pairs such as
   * \`["app.settings.region", "north"]\`. Default: none.
   */
  readonly appSettings?: readonly (readonly [name: string, value: string])[];
}
`;

function field(key: string, option: Option<unknown>): string {
  const doc = `${option.doc} Default: ${defaultText(key, option).replaceAll("$$", "$")}.`;
  const nullable = option.default === null ? " | null" : "";
  return `${comment(doc)}\n  readonly ${camelCase(key)}?: ${typeOf(option)}${nullable};`;
}

function typeOf({ codec }: Option<unknown>): string {
  const named = typesByName.get(codec.type);
  if (named !== undefined) return named;
  const words = Array.from(codec.type.matchAll(/\`([^\`]+)\`/g), ([, word]) => `"${word}"`);
  return words.length > 1 && codec.type.startsWith("\`") ? words.join(" | ") : "string";
}

const widest = 100;

/** Returns a doc comment: one line if the text fits, otherwise several. */
function comment(text: string): string {
  const single = `  /** ${text} */`;
  if (single.length <= widest) return single;
  const lines = text.split(" ").reduce<string[]>((done, word) => {
    const last = done.at(-1);
    if (last === undefined || last.length + 1 + word.length > widest - 5) return [...done, word];
    return [...done.slice(0, -1), `${last} ${word}`];
  }, []);
  return ["  /**", ...lines.map((line) => `   * ${line}`), "   */"].join("\n");
}

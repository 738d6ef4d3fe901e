/**
 * The configuration of one tenant: its own file, whose defaults are the configuration of the process.
 *
 * @module
 */
import { readBytes, readEnvironment, relativeTo, withPaths } from "../cli/config_files.ts";
import type { ConfigFile } from "../config/file.ts";
import { rejectFile } from "../config/handler_options.ts";
import { type Config, type OptionKey, options } from "../config/options.ts";
import { type ConfigSource, configSource } from "../config/source.ts";
import { dialectVariable } from "../config/names.ts";
import { addressOf } from "../response/openapi/about.ts";

/** Text that configures a tenant. */
export interface TenantDefinition {
  /** `path` stands in messages, too. */
  readonly file: ConfigFile;
  /** Whether the text is a file, which may name other files and variables of the environment. */
  readonly isFile: boolean;
  /** Text that differs after each change of the definition. */
  readonly version: string;
}

/** Keys, beside those of the server, that a tenant must not set. */
const keysOfProcess = /^(?:admin-|log-|metrics-|tenants?(?:-|$))/;

const moreKeysOfProcess: ReadonlySet<string> = new Set([
  "dialect",
  "server-max-requests",
  "server-trusted-proxies",
]);

/** Options of the keys that verify tokens. */
const tokenKeys: ReadonlySet<string> = new Set([
  "jwt-cookie-name",
  "jwt-issuer",
  "jwt-issuers",
  "jwt-jwks-url",
  "jwt-secret",
  "jwt-secret-is-base64",
]);

/** Options whose values are paths of files, which only files may name. */
const pathKeys: ReadonlySet<string> = new Set(["db-embedded-init", "db-password-file"]);

/** Returns why a tenant must not set an option; null if it may. */
function refusalOf(
  key: OptionKey,
  { tenantBy, isFile }: Pick<Config, "tenantBy"> & Pick<TenantDefinition, "isFile">,
): string | null {
  const isOfServer = key.startsWith("server-") && !options[key].reloadable;
  if (isOfServer || keysOfProcess.test(key) || moreKeysOfProcess.has(key)) {
    return "belongs to the process, not to a tenant";
  }
  if (!isFile && pathKeys.has(key)) return "names a file, which only a tenant's file may do";
  const isForeign = tenantBy.kind === "claim" && tokenKeys.has(key);
  return isForeign ? 'belongs to the process with tenant-by = "claim"' : null;
}

/** Makes the source of a tenant's configuration. */
export function tenantConfigSource(
  name: string,
  { file, isFile }: TenantDefinition,
  processConfig: Config,
): ConfigSource {
  const source = configSource({
    file,
    environment: isFile ? otherVariables(processConfig) : {},
    readFile: isFile ? (path) => readBytes(relativeTo(file.path, path)).content : rejectFile,
    programmatic: { dialect: processConfig.dialect },
    defaults: defaultsOf(processConfig),
    refuse: (key) => refusalOf(key, { tenantBy: processConfig.tenantBy, isFile }),
  });
  return {
    ...source,
    configure: (values) =>
      tenantConfig(
        name,
        withPaths(source.configure(values), isFile ? file.path : null),
        processConfig,
      ),
  };
}

/** Returns the environment without the options in it, which are those of the process. */
function otherVariables({ dialect }: Config): Readonly<Record<string, string>> {
  const isOption = (name: string) =>
    name.startsWith(`${dialect.environmentPrefix}_`) || name === dialectVariable;
  return Object.fromEntries(
    Object.entries(readEnvironment()).filter(([name]) => !isOption(name)),
  );
}

/** Returns the options of the process that hold for a tenant unless it has its own. */
function defaultsOf(processConfig: Config): Partial<Config> {
  const { dbUri, dbSchemas, ...others } = processConfig;
  return {
    ...others,
    ...(dbUri === "" ? {} : { dbUri }),
    ...(dbSchemas.length === 0 ? {} : { dbSchemas }),
  };
}

/** Returns a tenant's configuration with the limits that the process sets, and without its health path. */
function tenantConfig(name: string, config: Config, processConfig: Config): Config {
  return {
    ...config,
    dbPool: processConfig.tenantDbPool,
    serverMaxRequests: processConfig.tenantMaxRequests,
    serverHealthPath: null,
    openapiServerProxyUri: documentedAddress(name, config, processConfig),
  };
}

/** Returns the address for OpenAPI. That of the process lacks the tenant's part of the path. */
function documentedAddress(name: string, config: Config, processConfig: Config): string | null {
  const isOwn = config.openapiServerProxyUri !== processConfig.openapiServerProxyUri;
  if (isOwn || processConfig.tenantBy.kind !== "path") return config.openapiServerProxyUri;
  const { scheme, host, basePath } = addressOf(processConfig);
  return `${scheme}://${host}${basePath.replace(/\/$/, "")}/${name}`;
}

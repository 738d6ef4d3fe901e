/** The configuration of one tenant: its own file, whose defaults are the configuration of the
 * process. @module */
import { readBytes, readEnvironment, relativeTo, withPaths } from "../cli/config_files.ts";
import type { ConfigFile } from "../config/file.ts";
import { type Config, type OptionKey, options } from "../config/options.ts";
import { type ConfigSource, configSource } from "../config/source.ts";
import { dialectVariable } from "../config/names.ts";
import { addressOf } from "../response/openapi/about.ts";

/** Text that configures a tenant. */
export interface TenantDefinition {
  /** `path` stands in messages, too. */
  readonly file: ConfigFile;
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

/** Returns why a tenant must not set an option; null if it may. */
function refusalOf(key: OptionKey): string | null {
  const isOfServer = key.startsWith("server-") && !options[key].reloadable;
  const isOfProcess = isOfServer || keysOfProcess.test(key) || moreKeysOfProcess.has(key);
  return isOfProcess ? "belongs to the process, not to a tenant" : null;
}

/** Makes the source of a tenant's configuration. */
export function tenantConfigSource(
  name: string,
  { file }: TenantDefinition,
  processConfig: Config,
): ConfigSource {
  const source = configSource({
    file,
    environment: otherVariables(processConfig),
    readFile: (path) => readBytes(relativeTo(file.path, path)).content,
    programmatic: { dialect: processConfig.dialect },
    defaults: defaultsOf(processConfig),
    refuse: refusalOf,
  });
  return {
    ...source,
    configure: (values) =>
      tenantConfig(name, withPaths(source.configure(values), file.path), processConfig),
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
    dbPool: poolShareOf(processConfig),
    serverMaxRequests: processConfig.tenantMaxRequests,
    serverHealthPath: null,
    openapiServerProxyUri: documentedAddress(name, config, processConfig),
  };
}

/** Returns the size of a tenant's pool. */
export function poolShareOf({ tenantsDbPool, tenantsMaxLoaded }: Config): number {
  return Math.floor(tenantsDbPool / tenantsMaxLoaded);
}

/** Returns the address for OpenAPI. That of the process lacks the tenant's part of the path. */
function documentedAddress(name: string, config: Config, processConfig: Config): string | null {
  const isOwn = config.openapiServerProxyUri !== processConfig.openapiServerProxyUri;
  if (isOwn || processConfig.tenantBy !== "path") return config.openapiServerProxyUri;
  const { scheme, host, basePath } = addressOf(processConfig);
  return `${scheme}://${host}${basePath.replace(/\/$/, "")}/${name}`;
}

/** Tells clients where tokens for the endpoint come from (RFC 9728). @module */
import type { Config } from "../config/options.ts";
import { addressOf } from "../response/openapi/about.ts";

/**
 * Returns the URI that tokens must name in `aud` (RFC 8707). It depends on the configuration alone: a
 * `Host` header could name the service that a stolen token is for.
 */
export function resourceUri(config: Config): string {
  const { mcpResource, mcpPath, openapiServerProxyUri, serverPathPrefix } = config;
  if (mcpResource !== null) return mcpResource;
  if (openapiServerProxyUri !== null) return openapiServerProxyUri.replace(/\/$/, "") + mcpPath;
  const { scheme, host } = addressOf(config);
  return `${scheme}://${host}${serverPathPrefix ?? ""}${mcpPath}`;
}

/** Returns the URL of the metadata. A proxy that adds a prefix to `mcp-path` adds it to this path too. */
export function metadataUrlOf(config: Config): string {
  const path = config.mcpPath ?? "";
  const resource = resourceUri(config);
  const base = resource.endsWith(path)
    ? resource.slice(0, resource.length - path.length)
    : new URL(resource).origin;
  return `${base}/.well-known/oauth-protected-resource${path}`;
}

/** Returns the metadata of the endpoint (RFC 9728, section 2). */
export function resourceMetadata(config: Config) {
  return {
    resource: resourceUri(config),
    authorization_servers: config.mcpAuthorizationServers ?? [],
    bearer_methods_supported: ["header"],
    resource_name: config.dialect.productToken,
  };
}

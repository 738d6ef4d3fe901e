/** Plans the root: the OpenAPI description of a schema. @module */
import type { Config } from "../../state/config/options.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { canonicalText, type MediaRange } from "../../base/http/media_type.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";

export type OpenApiVersion = "2.0" | "3.1";

/** `none`; `any`: relations with any privilege; `methods`: the privileges per method. */
export type PrivilegeDetail = "none" | "any" | "methods";

export interface RootPlan {
  readonly kind: "root";
  readonly headersOnly: boolean;
  readonly schema: string;
  /** The fallback schemas. */
  readonly fallbacks: readonly string[];
  readonly version: OpenApiVersion;
  /** The privileges to which the description is limited. */
  readonly privileges: PrivilegeDetail;
}

/** Plans the description. Throws 406 `107` when the request accepts no OpenAPI media type. */
export function planRoot(
  { accept, schema }: ApiRequest,
  { headersOnly }: { readonly headersOnly: boolean },
  cache: SchemaCache,
  { openapiMode, openapiVersion }: Config,
): RootPlan {
  for (const range of accept) {
    const version = versionOf(range, openapiVersion);
    if (version === null) continue;
    const followed = version === "3.1" ? "methods" : "any";
    const privileges = openapiMode === "follow-privileges" ? followed : "none";
    const fallbacks = cache.fallbacks(schema);
    return { kind: "root", headersOnly, schema, fallbacks, version, privileges };
  }
  throw errors.notAcceptable(accept.map(canonicalText));
}

/** Returns the OpenAPI version of a media range; null if it is not an OpenAPI type. */
function versionOf(range: MediaRange, otherwise: OpenApiVersion): OpenApiVersion | null {
  switch (range.kind) {
    case "any":
    case "json":
      return otherwise;
    case "openapi":
      return range.version === undefined ? otherwise : versions.get(range.version) ?? null;
    default:
      return null;
  }
}

const versions: ReadonlyMap<string, OpenApiVersion> = new Map([
  ["2", "2.0"],
  ["2.0", "2.0"],
  ["3", "3.1"],
  ["3.1", "3.1"],
]);

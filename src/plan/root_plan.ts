/**
 * What is answered at the root: a description of the API, in the version that was asked for.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { canonicalText, type MediaRange } from "../http/media_type.ts";
import type { ApiRequest } from "../request/api_request.ts";

/** Versions of OpenAPI that the description can follow. */
export type OpenApiVersion = "2.0" | "3.1";

/** A plan of the description. */
export interface RootPlan {
  readonly kind: "root";
  readonly headersOnly: boolean;
  /** The schema whose relations and functions are described. */
  readonly schema: string;
  readonly version: OpenApiVersion;
  /** Whether only what the role may use is described. */
  readonly followPrivileges: boolean;
}

/** Options that the description's plan depends on. */
export interface RootConfig {
  readonly openapiMode: "follow-privileges" | "ignore-privileges" | "disabled";
  readonly openapiVersion: OpenApiVersion;
}

/** Plans the description. Raises 406 `107` when nothing of what is accepted is a description. */
export function planRoot(
  { accept, schema }: ApiRequest,
  { headersOnly }: { readonly headersOnly: boolean },
  { openapiMode, openapiVersion }: RootConfig,
): RootPlan {
  for (const range of accept) {
    const version = versionOf(range, openapiVersion);
    if (version === null) continue;
    const followPrivileges = openapiMode === "follow-privileges";
    return { kind: "root", headersOnly, schema, version, followPrivileges };
  }
  throw errors.notAcceptable(accept.map(canonicalText));
}

/** The version of a description that a media range takes; null when it takes none. */
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

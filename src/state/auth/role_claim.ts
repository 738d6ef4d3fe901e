/** Finds the role in a token's claims by the path in `jwt-role-claim-key`. @module */
import type { Claims } from "./jwt.ts";
import {
  followSteps,
  formatSteps,
  parseLegacyPath,
  type RolePathStep,
} from "./legacy_role_path.ts";
import { AuthSettingError } from "./keys.ts";
import type { JSONPathQuery } from "json-p3";

export interface RolePath {
  /** The path, in canonical form if it has the legacy syntax. */
  readonly text: string;
  /** Whether the path has the legacy syntax (`.a.b`), which is logged as deprecated. */
  readonly deprecated: boolean;
  /** Returns the first value at the path, or undefined. Throws if `..` exceeds its maximum depth. */
  readonly find: (claims: Claims) => unknown;
}

/**
 * Parses a path: JSONPath (RFC 9535, with `search(value, regex)` as an unanchored match), else the
 * legacy syntax of {@linkcode parseLegacyPath}.
 *
 * Throws `AuthSettingError` if it is neither.
 */
export async function parseRolePath(text: string): Promise<RolePath> {
  const legacyPath = parseLegacyPath(text);
  if (legacyPath !== null) {
    return {
      text: formatSteps(legacyPath),
      deprecated: true,
      find: (claims) => followSteps(claims, legacyPath),
    };
  }
  try {
    return { ...await compileJsonPath(text), deprecated: false };
  } catch (error) {
    const problem = error instanceof Error ? `: ${error.message}` : "";
    throw new AuthSettingError(
      `failed to parse role-claim-key value (${text})${problem}`,
      "jwt-role-claim-key",
    );
  }
}

/**
 * Returns the name of the role at the path, or null. A string is the name; any other value is
 * converted to compact JSON text.
 */
export function roleOf(claims: Claims, path: RolePath): string | null {
  const value = path.find(claims);
  return value === undefined ? null : roleText(value);
}

/** Returns the text of a claim's value: the text of a string, else compact JSON. */
export function roleText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Parses a path of names only, such as `$.role`, for which the JSONPath library is not loaded. */
function plainNames(text: string): readonly RolePathStep[] | null {
  if (!/^\$(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(text)) return null;
  return text.split(".").slice(1).map((name) => ({ kind: "name", name }));
}

/** Maximum depth of `..`, in levels. */
const maxDepth = 200;

/**
 * Returns the function that finds the first value at a JSONPath in claims; undefined also if `..` exceeds its
 * maximum depth. Rejects with an `Error` if the path is invalid.
 */
export async function compileClaimPath(text: string): Promise<(claims: Claims) => unknown> {
  const { find } = await compileJsonPath(text);
  return (claims) => {
    try {
      return find(claims);
    } catch {
      return undefined;
    }
  };
}

async function compileJsonPath(text: string): Promise<Pick<RolePath, "find" | "text">> {
  const names = plainNames(text);
  if (names !== null) return { text, find: (claims) => followSteps(claims, names) };
  // The library is loaded only for paths that need it.
  const { JSONPathEnvironment, jsonpath } = await import("json-p3");
  const environment = new JSONPathEnvironment({ maxRecursionDepth: maxDepth });
  environment.functionRegister.set(
    "search",
    new jsonpath.functions.Search({ iRegexpCheck: false }),
  );
  const query = environment.compile(text);
  return { text, find: (claims) => query.query(claims as JsonValue).nodes[0]?.value };
}

type JsonValue = Parameters<JSONPathQuery["query"]>[0];

/**
 * Where the role stands in a token's claims: the path language of `jwt-role-claim-key`.
 *
 * @module
 */
import type { Claims } from "./jwt.ts";
import {
  followSteps,
  formatSteps,
  parseLegacyPath,
  type RolePathStep,
} from "./legacy_role_path.ts";
import { jsonPathText } from "./role_path_text.ts";
import { AuthSettingError } from "./setting_error.ts";

/** A path to the role. */
export interface RolePath {
  /** The path as it is shown: in one way of writing. */
  readonly text: string;
  /** Whether the path is in the old syntax (`.a.b`), of which the operator is to be warned. */
  readonly deprecated: boolean;
  /** Gives the first value at the path, `undefined` when there is none. Raises for hostile nesting. */
  readonly find: (claims: Claims) => unknown;
}

/**
 * Parses a path: JSONPath (RFC 9535, with `search(value, regex)` as an unanchored match), else the
 * old syntax of {@linkcode parseLegacyPath}.
 *
 * Raises `AuthSettingError` when it is neither.
 */
export async function parseRolePath(text: string): Promise<RolePath> {
  const names = plainNames(text);
  if (names !== null) {
    return {
      text,
      deprecated: false,
      find: (claims) => followSteps(claims, names),
    };
  }
  const legacyPath = parseLegacyPath(text);
  if (legacyPath !== null) {
    return {
      text: formatSteps(legacyPath),
      deprecated: true,
      find: (claims) => followSteps(claims, legacyPath),
    };
  }
  return await compileJsonPath(text);
}

/**
 * Gives the name of the role at the path, `null` when there is none. A string is the name itself, any
 * other value stands as its compact JSON text.
 */
export function roleOf(claims: Claims, path: RolePath): string | null {
  const value = path.find(claims);
  if (value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Reads a path of names alone, such as `$.role`: no library has to be loaded for it. */
function plainNames(text: string): readonly RolePathStep[] | null {
  if (!/^\$(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(text)) return null;
  return text.split(".").slice(1).map((name) => ({ kind: "name", name }));
}

/** How deep `..` looks before it gives up. */
const maxDepth = 200;

async function compileJsonPath(text: string): Promise<RolePath> {
  const library = await import("json-p3");
  const { JSONPathEnvironment, jsonpath } = library;
  const environment = new JSONPathEnvironment({ maxRecursionDepth: maxDepth });
  environment.functionRegister.set(
    "search",
    new jsonpath.functions.Search({ iRegexpCheck: false }),
  );
  try {
    const query = environment.compile(text);
    return {
      text: jsonPathText(query, library),
      deprecated: false,
      find: (claims) => query.query(claims as JsonValue).nodes[0]?.value,
    };
  } catch (error) {
    const problem = error instanceof Error ? `: ${error.message}` : "";
    throw new AuthSettingError(
      `failed to parse role-claim-key value (${text})${problem}`,
      "jwt-role-claim-key",
    );
  }
}

type JsonValue = Parameters<import("json-p3").JSONPathQuery["query"]>[0];

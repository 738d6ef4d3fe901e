/** The form of a request: what its plan depends on, without the values that become parameters.
 * Requests of one form have the same plan. @module */
import { canonicalText, type MediaRange, parseMediaType } from "../../base/http/media_type.ts";
import type { ApiRequest } from "../../api/request/api_request.ts";
import { payloadUse } from "../../api/request/body/payload.ts";
import { levelKey } from "../../api/request/url/name_grammar.ts";
import type { Action } from "../../api/request/action.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";

/** The rows that a level selects. Without a limit, it is null. */
export interface LevelBounds {
  readonly limit: bigint | null;
  readonly offset: bigint;
}

/** One value, or the values of a list. */
export interface FormOperand {
  readonly isList: boolean;
  readonly values: readonly string[];
}

export interface Form {
  /** Equal for requests that differ by values, limits and offsets alone. */
  readonly key: string;
  readonly operands: readonly FormOperand[];
  /** By `levelKey` of the path; empty for the root. */
  readonly levels: ReadonlyMap<string, LevelBounds>;
}

/** Properties of the service that plans depend on. */
export interface FormContext {
  readonly cache: Pick<SchemaCache, "data">;
  readonly dbPlanEnabled: boolean;
}

/** Returns the form of a request. Its body is not a part of it. */
export function formOf(request: ApiRequest, context: FormContext): Form {
  const { action, schema, query, bounds, preferences, headers } = request;
  const { canonical: _, unused: __, filters, filterNames, logic, limits, ...rest } = query;
  const { limit: ___, offset: ____, hasLimits: _____, texts, clauses, callArguments, ...clean } =
    rest;
  const operands: FormOperand[] = [];
  const sorted = (nodes: readonly unknown[]) => sortedTexts(nodes, operands);
  // Names that are a filter or a clause, too: their value is compared as such.
  const doubles = new Set([
    ...clauses.map(({ name }) => name),
    ...filters.map(({ value }) => value.field.name),
  ]);
  const key = JSON.stringify([
    actionText(action),
    schema,
    blanked(clean, operands),
    sorted(filters),
    action.kind === "put" ? filterNames.toSorted() : [],
    sorted(logic),
    sorted(clauses),
    [...texts.keys()].sort(),
    sorted(
      callArguments.map(([name, value]) =>
        doubles.has(name) ? { name } : { kind: "argument", name, value }
      ),
    ),
    limits.filter(({ value }) => value.limit !== null).map(({ path }) => levelKey(path)).sort(),
    bounds.last !== null,
    {
      ...preferences,
      timezone: preferences.timezone !== null,
      maxAffected: preferences.maxAffected !== null,
      invalid: preferences.handling === "strict" ? preferences.invalid : [],
    },
    acceptText(request.accept, context),
    payloadUse(action) === null ? null : contentTypeText(headers["content-type"]),
  ]);
  const { first, last } = bounds;
  const levels = new Map<string, LevelBounds>([
    ["", { limit: last === null ? null : last - first + 1n, offset: first }],
    ...limits.map(({ path, value }): [string, LevelBounds] => [
      levelKey(path),
      { limit: value.limit, offset: value.offset ?? 0n },
    ]),
  ]);
  return { key, operands, levels };
}

/** HEAD has the plan of GET. */
function actionText(action: Action): string {
  switch (action.kind) {
    case "read":
      return `GET /${action.relation}`;
    case "call":
      return `${action.method === "HEAD" ? "GET" : action.method} /rpc/${action.routine}`;
    case "insert":
    case "update":
    case "put":
    case "delete":
      return `${action.kind} /${action.relation}`;
    case "root":
    case "options":
      return action.kind;
    default:
      return action satisfies never;
  }
}

/** Sorts nodes by their texts without values, as their order has no effect. Adds their operands in that order. */
function sortedTexts(nodes: readonly unknown[], operands: FormOperand[]): readonly string[] {
  const found = nodes.map((node) => {
    const own: FormOperand[] = [];
    return { text: JSON.stringify(blanked(node, own)), own };
  }).sort((one, other) => one.text < other.text ? -1 : Number(one.text > other.text));
  for (const { own } of found) operands.push(...own);
  return found.map(({ text }) => text);
}

/** Returns a part of a query without operands, which are added to the list. */
function blanked(node: unknown, operands: FormOperand[]): unknown {
  if (Array.isArray(node)) return node.map((each) => blanked(each, operands));
  if (typeof node !== "object" || node === null) return node;
  const { kind, value, values, ...others } = node as Readonly<Record<string, unknown>>;
  switch (kind) {
    case "compare":
    case "isdistinct":
    case "similar":
    case "fullText":
    case "argument":
      operands.push({ isList: false, values: [String(value)] });
      return { kind, ...others };
    case "in":
      operands.push({ isList: true, values: values as readonly string[] });
      return { kind, ...others };
    case "page":
      return { kind, direction: others["direction"] };
    default:
      return Object.fromEntries(
        Object.entries(node).map(([name, each]) => [name, blanked(each, operands)]),
      );
  }
}

/** Types that each relation and function has without a handler. */
const alwaysAvailable: ReadonlySet<MediaRange["kind"]> = new Set<MediaRange["kind"]>([
  ...["any", "json", "csv", "ndjson", "geojson", "singular", "strippedArray"] as const,
]);

/** Returns the accepted types up to the first one that is available; JSON for any type if no handler is defined. */
function acceptText(
  accept: readonly MediaRange[],
  { cache: { data: { mediaHandlers } }, dbPlanEnabled }: FormContext,
): string {
  const hasHandlers = mediaHandlers.length > 0;
  const texts: string[] = [];
  for (const range of accept) {
    const isAvailable = alwaysAvailable.has(range.kind);
    if (range.kind === "plan" ? dbPlanEnabled : isAvailable || hasHandlers) {
      texts.push(!hasHandlers && range.kind === "any" ? "application/json" : canonicalText(range));
    }
    if (isAvailable) break;
  }
  return texts.join(",");
}

export function contentTypeText(header: string | undefined): string {
  return canonicalText(parseMediaType(header?.trim() || "application/json"));
}

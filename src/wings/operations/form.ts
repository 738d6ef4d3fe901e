/** The form of a request: what its plan depends on, without the values that become parameters.
 * Requests of one form have the same plan. @module */
import { canonicalText, type MediaRange, parseMediaType } from "../../base/http/media_type.ts";
import type { ApiRequest } from "../../api/request/api_request.ts";
import type { Action } from "../../api/request/action.ts";
import { payloadUse } from "../../api/request/body/payload.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";

/** One value, or the values of a list. */
export interface FormOperand {
  readonly isList: boolean;
  readonly values: readonly string[];
}

export interface Form {
  /** Equal for requests that differ by values, limits and offsets alone. */
  readonly key: string;
  readonly operands: readonly FormOperand[];
  /** Limits and offsets by the names of their parameters. An absent offset is 0. */
  readonly rows: ReadonlyMap<string, bigint>;
}

/** Returns the form of a request. Its body is not a part of it. */
export function formOf(request: ApiRequest, snapshot: Snapshot): Form {
  const { action, schema, query, preferences, headers } = request;
  const { clauses, filters } = query;
  const operands: FormOperand[] = [];
  const sorted = (nodes: readonly unknown[]) => sortedTexts(nodes, operands);
  // Names that are a filter or a clause, too: their value is compared as such.
  const doubles = new Set([
    ...clauses.map(({ name }) => name),
    ...filters.map(({ value }) => value.field.name),
  ]);
  const callArguments = query.callArguments.map(([name, value]) =>
    doubles.has(name) ? { name } : { kind: "argument", name, value }
  );
  const rows = rowsOf(request);
  const parts = {
    ...query,
    ...withoutEffect,
    filters: sorted(filters),
    filterNames: action.kind === "put" ? query.filterNames.toSorted() : [],
    logic: sorted(query.logic),
    clauses: sorted(clauses),
    callArguments: sorted(callArguments),
    texts: [...query.texts.keys()].sort(),
    limits: [...rows.keys()].filter((name) => name.endsWith("limit")).sort(),
  };
  const key = JSON.stringify([
    actionText(action),
    schema,
    blanked(parts, operands),
    {
      ...preferences,
      timezone: preferences.timezone !== null,
      maxAffected: preferences.maxAffected !== null,
      invalid: preferences.handling === "strict" ? preferences.invalid : [],
    },
    acceptText(request.accept, snapshot),
    payloadUse(action) === null ? null : contentTypeText(headers["content-type"]),
  ]);
  return { key, operands, rows };
}

/** Members of a query that no plan depends on, or that are compared as limits. */
const withoutEffect = {
  canonical: undefined,
  unused: undefined,
  limit: undefined,
  offset: undefined,
  hasLimits: undefined,
};

function rowsOf({ bounds: { first, last }, query }: ApiRequest): Form["rows"] {
  const levels = [
    { path: [], value: { limit: last === null ? null : last - first + 1n, offset: first } },
    ...query.limits,
  ];
  return new Map(
    levels.flatMap(({ path, value }) =>
      (["limit", "offset"] as const).flatMap((part): [string, bigint][] => {
        const count = value[part];
        return count === null ? [] : [[rowsName(path, part), count]];
      })
    ),
  );
}

/** Returns the name of the parameter that limits the rows of a level. */
export function rowsName(path: readonly string[], part: string): string {
  return [...path.map(queryName), part].join(".");
}

/** HEAD has the plan of GET. */
function actionText(action: Action): string {
  switch (action.kind) {
    case "call":
      return `${action.method === "HEAD" ? "GET" : action.method} /rpc/${action.routine}`;
    case "read":
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
export function acceptText(accept: readonly MediaRange[], { cache, config }: Snapshot): string {
  const hasHandlers = cache!.data.mediaHandlers.length > 0;
  const first = accept.findIndex(({ kind }) => alwaysAvailable.has(kind));
  return accept.slice(0, first < 0 ? accept.length : first + 1)
    .filter(({ kind }) =>
      kind === "plan" ? config.dbPlanEnabled : hasHandlers || alwaysAvailable.has(kind)
    )
    .map((range) =>
      range.kind === "any" && !hasHandlers ? "application/json" : canonicalText(range)
    )
    .join(",");
}

export function contentTypeText(header: string | undefined): string {
  return canonicalText(parseMediaType(header?.trim() || "application/json"));
}

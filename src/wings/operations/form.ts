/** The form of a request: everything that its plan depends on, without values that become
 * parameters. Requests of one form have the same plan. @module */
import { canonicalText, type MediaRange, parseMediaType } from "../../base/http/media_type.ts";
import type { ApiRequest } from "../../api/request/api_request.ts";
import type { Action } from "../../api/request/action.ts";
import { payloadUse } from "../../api/request/body/payload.ts";
import { isJsonObject } from "../../base/lib/json_object.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";

/** One value, or the values of a list. */
export interface FormOperand {
  readonly isList: boolean;
  readonly values: readonly string[];
}

export interface Form {
  readonly action: Action;
  /** A text that is equal for requests that differ only in values, limits and offsets. */
  readonly key: string;
  readonly operands: readonly FormOperand[];
  /** Limits and offsets by name of the parameter. An absent offset is 0. */
  readonly rows: ReadonlyMap<string, bigint>;
}

/** Returns the form of a request, without its body. */
export function formOf(request: ApiRequest, snapshot: Snapshot): Form {
  const { action, schema, query, preferences, headers } = request;
  const { canonical: _, unused: __, limit: ___, offset: ____, hasLimits: _____, ...parts } = query;
  const operands: FormOperand[] = [];
  // An argument whose name is also a filter or a clause is compared as the filter or clause.
  const doubles = new Set([
    ...query.clauses.map(({ name }) => name),
    ...query.filters.map(({ value }) => value.field.name),
  ]);
  const callArguments = query.callArguments.map(([name, value]) =>
    doubles.has(name) ? { name } : { kind: "argument", name, value }
  );
  const rows = rowsOf(request);
  const key = blankText({
    action: planned(action),
    schema,
    ...parts,
    filters: sortedTexts(query.filters, operands),
    filterNames: action.kind === "put" ? query.filterNames.toSorted() : [],
    logic: sortedTexts(query.logic, operands),
    order: sortedTexts(query.order, operands),
    levelConflicts: sortedTexts(query.levelConflicts, operands),
    clauses: sortedTexts(query.clauses, operands),
    callArguments: sortedTexts(callArguments, operands),
    texts: [...query.texts.keys()].sort(),
    limits: [...rows.keys()].filter((name) => name.endsWith("limit")).sort(),
    preferences: {
      ...preferences,
      timezone: preferences.timezone !== null,
      maxAffected: preferences.handling === "strict" ? preferences.maxAffected : null,
      invalid: preferences.handling === "strict" ? preferences.invalid : [],
    },
    accept: acceptText(request.accept, snapshot),
    contentType: payloadUse(action) === null
      ? null
      : canonicalText(parseMediaType(headers["content-type"]?.trim() || "application/json")),
  }, operands);
  return { action, key, operands, rows };
}

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

/** Returns the name of the parameter `part`, which is `limit` or `offset`, for the rows of a level. */
export function rowsName(path: readonly string[], part: string): string {
  return [...path.map(queryName), part].join(".");
}

/** Returns the action whose plan is used. HEAD has the plan of GET. */
function planned(action: Action): unknown {
  if (action.kind === "read" || action.kind === "root") return { ...action, headersOnly: false };
  return action.kind === "call" && action.method === "HEAD" ? { ...action, method: "GET" } : action;
}

/** Sorts nodes by their texts, because their order has no effect. Adds their operands in this order. */
function sortedTexts(nodes: readonly unknown[], operands: FormOperand[]): readonly string[] {
  const parts = nodes.map((node) => {
    const own: FormOperand[] = [];
    return { text: blankText(node, own), own };
  }).sort((one, other) => one.text < other.text ? -1 : Number(one.text > other.text));
  operands.push(...parts.flatMap(({ own }) => own));
  return parts.map(({ text }) => text);
}

/** Returns a node as JSON without cursors and operands, and adds the operands to the list. */
function blankText(node: unknown, operands: FormOperand[]): string {
  return JSON.stringify(node, (_, each) => {
    if (!isJsonObject(each) || !blankKinds.has(each["kind"])) return each;
    const { value, values, cursor, ...others } = each;
    if (cursor === undefined) {
      const texts = (values ?? [String(value)]) as readonly string[];
      operands.push({ isList: values !== undefined, values: texts });
    }
    return others;
  });
}

/** Kinds of nodes that have an operand, or a cursor. */
const blankKinds: ReadonlySet<unknown> = new Set(
  ["compare", "isdistinct", "similar", "fullText", "in", "argument", "page"],
);

/** Types that each relation and function supports without a handler. */
const alwaysAvailable: ReadonlySet<MediaRange["kind"]> = new Set<MediaRange["kind"]>([
  ...["any", "json", "csv", "ndjson", "geojson", "singular", "strippedArray"] as const,
]);

/** Returns the accepted types up to the first available one. Any type means JSON, unless a handler is defined. */
function acceptText(accept: readonly MediaRange[], { cache, config }: Snapshot): string {
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

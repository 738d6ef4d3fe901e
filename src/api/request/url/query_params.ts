/** Assigns each parameter of the query string to a clause, and parses its value. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { ServiceError } from "../../../base/errors/service_error.ts";
import { isClauseName, readClause, readTexts, textName } from "./clause_params.ts";
import { levelSegments, readColumns, readLevelConflicts, readNames } from "./columns_param.ts";
import {
  isCommitted,
  type OperatorExpression,
  operatorExpression,
  restOfText,
} from "./filter_grammar.ts";
import { readCount, readLimits } from "./row_bounds.ts";
import { group } from "./logic_grammar.ts";
import { levelKey, levelOf, type TreePath, treePath, wholeNames } from "./name_grammar.ts";
import { order } from "./order_grammar.ts";
import { canonicalQuery, type QueryParam, splitQuery, type ValuedParam } from "./query_string.ts";
import type {
  AtLevel,
  Filter,
  LogicGroup,
  NamedClause,
  Operation,
  OrderTerm,
  QueryParams,
  RowLock,
  SelectItem,
  UnusedParam,
} from "./query_types.ts";
import { parseError, readFrom, readText } from "./read_text.ts";
import { Scanner } from "./scanner.ts";
import { select } from "./select_grammar.ts";
import { relatedFrom } from "./value_grammar.ts";

/** `call-get`: GET of a function, where parameters are arguments unless they are reserved or filters. */
export type QueryMode = WriteMode | "relation" | "call-get" | "call-post";

type WriteMode = "insert" | "update" | "put" | "delete";

/** Names that are reserved as a whole. The first parameter of a name applies, even if its value is empty. */
type WholeName = "select" | "columns" | "on_conflict";

/** Names of which the first parameter with a value applies. */
type SingleName = "on" | "lock" | "conflictIndex" | "conflictColumns" | "conflictWhere";

/** Kinds of parameters that may repeat. `levels`: the parameters for nested items of `columns`. */
type ListName = SingleName | "levels" | "order" | "logic" | "limits" | "texts" | "filters";

/** The kinds of parameters that have no effect, for each mode. */
const unapplied: Readonly<Record<QueryMode, readonly (WholeName | ListName)[]>> = {
  insert: ["filters", "logic", "limits"],
  update: ["on_conflict"],
  put: ["columns", "on_conflict"],
  delete: ["columns", "on_conflict"],
  "call-post": ["on_conflict"],
  "call-get": [],
  relation: [],
};

/** Reserved last segments of names, with the kind of such parameters. */
const lastSegments: ReadonlyMap<string, "order" | "logic" | "limits"> = new Map([
  ["order", "order"],
  ["and", "logic"],
  ["or", "logic"],
  ["limit", "limits"],
  ["offset", "limits"],
]);

/**
 * Parses a raw query string without the question mark. Throws `100` for the first invalid
 * parameter: of `order`, then of `and` and `or`, then `columns`, `select`, the filters,
 * `on_conflict` and its parts, `on`, and the paths of `limit` and `offset`; `195` for an invalid
 * `lock`; `196` for a filter as the value of `columns` or `on_conflict`. `canonicalOf` writes the
 * canonical form.
 */
export function parseQuery(
  raw: string,
  mode: QueryMode,
  canonicalOf: (params: readonly QueryParam[]) => string = canonicalQuery,
): QueryParams {
  const params = splitQuery(raw.toWellFormed());
  if (raw.includes("%00")) refuseNul(params);
  const { unused, ...sorted } = sortParams(params, mode);
  const orders = readOrders(sorted.order ?? nothing);
  const logic = sorted.logic?.map((param) => readLogic(param, mode)) ?? nothing;
  const written = readColumns(sorted.columns, mode === "insert");
  const items = readSelect(sorted.select);
  const isAbsent = sorted.select === undefined || sorted.select === null;
  const filtered = readFilters(sorted.filters ?? nothing, mode);
  const conflict = readConflictNames(sorted);
  const on = readNames("on parameter", sorted.on?.[0]?.value);
  const bounds = readLimits(sorted.limits ?? nothing);
  return {
    select: items,
    defaultSelect: isAbsent || items.length === 1 && isWholeRow(items[0]!),
    ...filtered,
    logic,
    order: orders,
    ...bounds,
    lock: sorted.lock === undefined ? null : readLock(sorted.lock[0]!.value, mode, bounds.limit),
    ...written,
    levelConflicts: readLevelConflicts(sorted.levels ?? nothing),
    ...conflict,
    conflictWhere: readCondition(sorted.conflictWhere?.[0]?.value),
    on: on && [...new Set(on)],
    texts: readTexts(sorted.texts ?? nothing),
    unused,
    canonical: canonicalOf(params),
  };
}

/** Returns the names of parameters that concern conflicts. */
function readConflictNames(
  sorted: Omit<ReturnType<typeof sortParams>, "unused">,
): Pick<QueryParams, "conflictColumns" | "conflictIndex" | "onConflict"> {
  const onConflict = readNames("on_conflict parameter", sorted.on_conflict);
  const index = readNames("on_conflict.index parameter", sorted.conflictIndex?.[0]?.value);
  const [conflictIndex = null] = index ?? nothing;
  const names = sorted.conflictColumns?.[0]?.value;
  const columns = readNames("on_conflict.columns parameter", names);
  return { onConflict, conflictIndex, conflictColumns: columns && [...new Set(columns)] };
}

const nothing: readonly never[] = [];

/** Returns whether some requests reserve the name, so that it cannot be a filter or an argument. */
export function isParameterName(name: string): boolean {
  return isWholeName(name) || name === "on" || name === "lock" || lastSegments.has(name) ||
    name === "not.and" || name === "not.or" || name.startsWith("@") ||
    conflictParameters.has(name) || isClauseName(name);
}

function refuseNul(params: readonly QueryParam[]): void {
  const texts = params.flatMap(({ name, value }) => value === null ? [] : [name, value]);
  const text = texts.find((text) => text.includes("\0"));
  if (text === undefined) return;
  throw errors.parse({
    what: "query parameter",
    raw: text.replaceAll("\0", "%00"),
    column: [...text.slice(0, text.indexOf("\0"))].length + 1,
    details: 'unexpected "%00": PostgreSQL has no text with the character U+0000',
    inWords: null,
  });
}

/** Returns the parameters by kind, in query order. Throws `196` for a filter as `columns` or `on_conflict`. */
function sortParams(params: readonly QueryParam[], mode: QueryMode) {
  const whole: Partial<Record<WholeName, string | null>> = {};
  const lists: Partial<Record<ListName, ValuedParam[]>> = {};
  const unused: UnusedParam[] = [];
  const once = new Set<string>();
  for (const { name, value } of params) {
    if (isWholeName(name) && whole[name] === undefined) whole[name] = value;
    if (value === null) {
      unused.push({ name, why: "has no value" });
      continue;
    }
    const kind = isWholeName(name) ? name : listOf(name, value, mode);
    if (!isWholeName(kind)) (lists[kind] ??= []).push({ name, value });
    const isOnce = kind !== "filters" && kind !== "logic";
    const isRepeated = isOnce && once.size === once.add(name.replaceAll('"', "")).size;
    const isNamed = (text: string) => params.some((other) => other.value?.includes(text));
    const isUnnamed = kind === "texts" && isWrite(mode) && !isNamed(`@${textName(name)}`);
    const why = isRepeated
      ? "occurs twice"
      : isUnnamed
      ? "has no effect"
      : whyUnused(kind, { name, value }, mode);
    if (why !== undefined) unused.push({ name, why });
    if (isWholeName(kind) && why === "is a filter") throw errors.unusedParameter({ name, why });
  }
  return { ...whole, ...lists, unused };
}

/** Returns why a single parameter has no effect; undefined if it has an effect. */
function whyUnused(
  kind: WholeName | ListName,
  { name, value }: ValuedParam,
  mode: QueryMode,
): UnusedParam["why"] | undefined {
  const mayBeFilter = kind === "order" ? !isWrite(mode) : mayBeFilters.has(kind);
  if (!mayBeFilter && isFilter(value)) return "is a filter";
  if (kind === "limits" && readCount(value) === null) return "is no integer";
  if (!unapplied[mode].includes(kind) || kind === "filters" && !isFilter(value)) return undefined;
  const level = new Scanner(name.replace(/^not\./, "")).attempt(treePath)?.path;
  return level?.length === 0 ? "has no effect" : undefined;
}

const mayBeFilters: ReadonlySet<string> = new Set(["filters", "logic", "texts", "select"]);

function listOf(name: string, value: string, mode: QueryMode): ListName {
  if (mode === "update" && name === "on" && isNameList(value)) return "on";
  if (name === "lock" && !mode.startsWith("call") && !isFilter(value)) return "lock";
  const part = mode === "insert" ? conflictParameters.get(name) : undefined;
  if (part !== undefined && !isFilter(value)) return part;
  if (mode === "insert" && isLevelConflict(name) && !isFilter(value)) return "levels";
  if (name.startsWith("@") && textName(name) !== null) return "texts";
  return lastSegments.get(lastSegment(name)) ?? "filters";
}

function isWholeName(name: string): name is WholeName {
  return name === "select" || name === "columns" || name === "on_conflict";
}

/** Parameters of an insert that would otherwise be filters on an embed named `on_conflict`. */
const conflictParameters = new Map(
  [
    ["on_conflict.index", "conflictIndex"],
    ["on_conflict.columns", "conflictColumns"],
    ["on_conflict.where", "conflictWhere"],
  ] as const,
) as ReadonlyMap<string, "conflictIndex" | "conflictColumns" | "conflictWhere">;

function isLevelConflict(name: string): boolean {
  return name.includes(".") && levelSegments.has(lastSegment(name));
}

/** Returns whether a value can be parsed as a filter: `eq.5`. */
export function isFilter(value: string): boolean {
  return new Scanner(value).attempt(wholeExpression) !== undefined;
}

function wholeExpression(scanner: Scanner): OperatorExpression {
  return operatorExpression(scanner, restOfText);
}

/** Returns whether the value of `on` is a list of columns. A filter has a dot outside of quotes. */
function isNameList(value: string): boolean {
  return !value.replace(/"(?:[^"\\]|\\.)*"/gs, "").includes(".");
}

/** `lock = "skip" / "nowait"`, in an update or delete with a limit. */
function readLock(text: string, mode: QueryMode, limit: bigint | null): RowLock {
  if (mode !== "update" && mode !== "delete") {
    throw errors.invalidLock("Only PATCH and DELETE lock rows");
  }
  if (text !== "skip" && text !== "nowait") throw errors.invalidLock(`'${text}' is not known`);
  if (limit === null) throw errors.invalidLock("It needs 'limit' and 'order'");
  return text;
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Parses a group whose conditions must all hold. */
function readCondition(raw: string | undefined): LogicGroup | null {
  if (raw === undefined) return null;
  const children = readText({ what: "on_conflict.where parameter", raw }, group);
  return { kind: "group", negated: false, operator: "and", children };
}

function readSelect(raw: string | null | undefined): readonly SelectItem[] {
  return raw ? readText({ what: "select parameter", raw }, select) : nothing;
}

function isWholeRow(item: SelectItem): boolean {
  return item.kind === "all" && item.only === undefined;
}

function readOrders(params: readonly ValuedParam[]): readonly AtLevel<readonly OrderTerm[]>[] {
  const levels = new Map<string, AtLevel<readonly OrderTerm[]>>();
  for (const { name, value } of params) {
    const path = levelOf(name);
    const terms = readText({ what: "order", raw: value }, order);
    const key = levelKey(path);
    if (!levels.has(key)) levels.set(key, { path, value: terms });
  }
  return [...levels.values()];
}

/** Parses a group. The word `and` or `or` is put before the value, so that column numbers include it. */
function readLogic({ name, value }: ValuedParam, mode: QueryMode): AtLevel<LogicGroup> {
  const names = readText({ what: "logic path", raw: name }, wholeNames);
  const operator = names.at(-1) === "and" ? "and" : "or";
  const before = names.slice(0, -1);
  const path = before.filter((segment) => segment !== "not");
  const negated = path.length < before.length;
  const prefix = negated ? `not.${operator}` : operator;
  const scanner = new Scanner(prefix + value, prefix.length);
  const children = readFrom(
    scanner,
    { what: "logic tree", raw: value, isWhole: isWrite(mode) },
    group,
  );
  return { path, value: { kind: "group", negated, operator, children } };
}

type Filtered = Pick<QueryParams, "filters" | "filterNames" | "clauses" | "callArguments">;

function readFilters(params: readonly ValuedParam[], mode: QueryMode): Filtered {
  const filters: AtLevel<Filter>[] = [];
  const filterNames: string[] = [];
  const clauses: NamedClause[] = [];
  const callArguments: (readonly [string, string])[] = [];
  const [isWhole, isCall] = [isWrite(mode), mode === "call-get"];
  for (const param of params) {
    const { name, value } = param;
    const named = readText({ what: "tree path", raw: name, isWhole }, filterName);
    const { path, field, operand } = named;
    const scanner = new Scanner(value);
    const read = scanner.read(wholeExpression);
    const mayBeArgument = isCall && read !== undefined && isArgumentOrFilter(read.operation);
    if (mayBeArgument) callArguments.push([field.name, value]);
    if (read !== undefined && (!mayBeArgument || scanner.atEnd)) {
      if ((isWhole || read.operation.kind === "column") && !scanner.atEnd) {
        scanner.read((end) => end.failAtEnd(nothing));
        throw parseError(scanner, { what: "filter", raw: value });
      }
      const compared: ComparedColumn = operand === undefined
        ? { field }
        : { field, operand, prefersColumn: true };
      filters.push({ path, value: { kind: "filter", ...compared, ...read } });
      filterNames.push(name);
      continue;
    }
    if (mayBeArgument) continue;
    const isArgument = isCall && !isCommitted(value);
    const clause = isArgument
      ? ignoringErrors(() => readClause(param, path))
      : readClause(param, path);
    if (clause !== undefined) clauses.push(clause);
    if (isArgument) callArguments.push([field.name, value]);
    else if (clause === undefined) {
      throw parseError(scanner, { what: "filter", raw: value, column: name });
    }
  }
  return { filters, filterNames, clauses, callArguments };
}

/** Returns whether PostgREST lacks an operation. A value with it is an argument if a parameter of
 * the function has the name. */
export function isArgumentOrFilter({ kind }: Operation): boolean {
  return kind === "column" || kind === "similar";
}

/** Returns whether a mode is a write. Text after a condition of a write is an error, because it may
 * be meant to restrict the write. */
function isWrite(mode: QueryMode): boolean {
  return mode !== "relation" && !mode.startsWith("call");
}

type ComparedColumn = Pick<Filter, "field" | "operand" | "prefersColumn">;

/** Returns the result; undefined if parsing throws an error. Used for values that may be any text. */
function ignoringErrors<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** `filter-name = name-path [ "(" operand ")" ]`; other text after the path is ignored. */
function filterName(scanner: Scanner): TreePath & Pick<Filter, "operand"> {
  const read = treePath(scanner);
  if (read.field.path.length > 0 || !scanner.sees("(")) return read;
  const operand = ignoringErrors(() =>
    scanner.attempt((inner) => relatedFrom(inner, read.field.name))
  );
  return operand === undefined ? read : { ...read, operand };
}

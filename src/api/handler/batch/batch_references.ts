/** References in a batch: members of an operation whose values come from results of earlier
 * operations. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { isJsonObject } from "../../../base/lib/json_object.ts";
import { parseJson } from "../../../base/lib/json_text.ts";
import { resultCheck, type ResultPart, type ResultValue } from "../../query/result_reference.ts";
import { reachOf } from "../../plan/retry_safe.ts";
import type { BatchOperation } from "./batch_document.ts";
import { isSpread, type ReadNode } from "../../plan/read_node.ts";
import type { Query } from "../../query/query.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { Payload } from "../../request/body/body_decoder.ts";
import type { JsonPayload } from "../../request/body/divided_body.ts";
import { JsonRowsScan } from "../../request/body/json_rows.ts";
import { textOf } from "../../request/utf8.ts";
import type { SchemaCache } from "../../../state/schema_cache/schema_cache.ts";
import type { ReferenceCheck } from "../../transaction/script.ts";
import { type DataPlan, queryOf } from "../../transaction/data_plan.ts";

/** The references of a batch, by operation. A malformed one throws when its operation is planned. */
export class BatchReferences {
  readonly #references: readonly (() => readonly BatchReference[])[];
  /** Result columns that later operations use, by operation. */
  readonly #used = new Map<number, Set<string>>();

  constructor(operations: readonly BatchOperation[]) {
    const ids = new Map<string, number>();
    this.#references = operations.map((operation) => {
      const references = this.#read(operation, ids);
      ids.set(operation.id, operation.index);
      return references;
    });
  }

  /** Returns the references from and to an operation; null if it has no references. Throws `142`. */
  of(
    index: number,
    context: Pick<ReferenceContext, "cache" | "earlier" | "isRestricted">,
  ): OperationReferences | null {
    const references = this.#references[index]!();
    const usedColumns = this.#used.get(index) ?? null;
    if (references.length === 0 && usedColumns === null) return null;
    return new OperationReferences({ ...context, index, references, usedColumns });
  }

  #read(
    operation: BatchOperation,
    ids: ReadonlyMap<string, number>,
  ): () => readonly BatchReference[] {
    try {
      const references = readReferences(operation, ids);
      for (const { value: { operation: source, part } } of references) {
        const used = this.#used.get(source) ?? new Set();
        if (part.kind !== "scalar") used.add(part.column);
        this.#used.set(source, used);
      }
      return () => references;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }
}

/** The member that a reference sets, in the body's object or in each object of the array. */
interface ReferenceTarget {
  readonly shape: "object" | "array";
  readonly column: string;
}

export interface BatchReference {
  readonly target: ReferenceTarget;
  /** As sent. */
  readonly targetText: string;
  /** As sent. */
  readonly source: string;
  readonly value: ResultValue;
}

/** Parses an operation's references. `ids` are the names of earlier operations. Throws `142`. */
function readReferences(
  { refs }: Pick<BatchOperation, "refs">,
  ids: ReadonlyMap<string, number>,
): readonly BatchReference[] {
  return refs.map(([targetText, source]) => {
    const refuse = (reason: string) => errors.invalidReference(targetText, reason);
    const target = readTarget(targetText);
    if (target === null) {
      throw refuse("The target is not '/<column>' or '/*/<column>'");
    }
    const hash = source.indexOf("#");
    const part = hash < 0 ? null : readPart(source.slice(hash + 1));
    if (part === null) {
      throw refuse(
        `The source '${source}' is not '<id>#', followed by '/<column>' or '/<row>/<column>'`,
      );
    }
    const operation = ids.get(source.slice(0, hash));
    if (operation === undefined) throw refuse(`No earlier operation is '${source.slice(0, hash)}'`);
    return { target, targetText, source, value: { operation, part } };
  });
}

function readTarget(text: string): ReferenceTarget | null {
  const segments = pointerSegments(text);
  if (segments?.length === 1) return { shape: "object", column: segments[0]! };
  if (segments?.length !== 2 || segments[0] !== "*") return null;
  return { shape: "array", column: segments[1]! };
}

/** Matches the index of a row, which has at most four digits. */
const rowIndex = /^(?:0|[1-9][0-9]{0,3})$/;

function readPart(pointer: string): ResultPart | null {
  if (pointer === "") return { kind: "scalar" };
  const segments = pointerSegments(pointer);
  const [first = "", column] = segments ?? [];
  if (segments?.length === 1) return { kind: "only", column: first };
  if (segments?.length !== 2 || column === undefined) return null;
  if (first === "*") return { kind: "all", column };
  return rowIndex.test(first) ? { kind: "row", index: Number(first), column } : null;
}

/** Returns the segments of a JSON Pointer (RFC 6901); null for other texts. */
function pointerSegments(text: string): readonly string[] | null {
  if (!text.startsWith("/") || text.includes("\0") || /~(?![01])/.test(text)) return null;
  return text.slice(1).split("/").map((segment) =>
    segment.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/** The references of an operation, and the plans that they depend on. */
export interface ReferenceContext {
  readonly index: number;
  readonly references: readonly BatchReference[];
  /** Columns of the result that later operations use; null if no later operation refers to it. */
  readonly usedColumns: ReadonlySet<string> | null;
  /** Plans of all earlier operations, by position. */
  readonly earlier: readonly DataPlan[];
  /** Whether references can use only a write's primary key and the columns in its response. */
  readonly isRestricted: boolean;
  readonly cache: SchemaCache;
}

/** The references of one operation. Its methods are called in the order in which they are declared. */
export class OperationReferences {
  readonly #context: ReferenceContext;
  #body: JsonPayload | null = null;

  /** Throws `142` if the result of an earlier operation cannot have the referenced value. */
  constructor(context: ReferenceContext) {
    this.#context = context;
    for (const { targetText, value } of context.references) {
      const reason = refuseSource(context.earlier[value.operation]!, value, context);
      if (reason !== null) throw errors.invalidReference(targetText, reason);
    }
  }

  /** Checks of the results that the operation uses. They run before the operation's statements. */
  get checks(): readonly ReferenceCheck[] {
    return this.#context.references.map(({ value, source }) => ({
      statement: resultCheck(value, this.#body!.text),
      source,
    }));
  }

  /** Adds the names of referencing members to a request. Throws `142`. */
  bind(request: ApiRequest): ApiRequest {
    const { references } = this.#context;
    if (references.length === 0) return request;
    const payload = this.#payloadOf(request);
    const names = references.map(({ target }) => target.column);
    const withNames = (own: readonly string[]) => [...new Set([...own, ...names])].sort();
    const { query } = request;
    return query.columns === null
      ? { ...request, payload: { ...payload, keys: withNames(payload.keys ?? []) } }
      : { ...request, query: { ...query, columns: withNames(query.columns) } };
  }

  /** Returns a body with the referencing members, for the check by a guard. Their values are
   * placeholders that equal no other value. */
  withMembers(payload: Payload): Payload {
    const names = this.#context.references.map(({ target }) => target.column);
    if (payload.kind !== "json" || names.length === 0) return payload;
    const unknown = crypto.randomUUID();
    const members = Object.fromEntries(names.map((name) => [name, unknown]));
    const add = (row: unknown) => isJsonObject(row) ? { ...row, ...members } : row;
    const keys = payload.keys && [...new Set([...payload.keys, ...names])].sort();
    try {
      const body = parseJson(textOf(payload.text) ?? "");
      const rows = JSON.stringify(Array.isArray(body) ? body.map(add) : add(body));
      return { ...payload, keys, text: new TextEncoder().encode(rows) };
    } catch {
      return payload; // It is not JSON.
    }
  }

  /** Returns the SQL of the plan. Throws `142` if workers of Citus may run the plan, or the plan of
   * an operation to which it refers. */
  query(plan: DataPlan): Query {
    const { index, usedColumns, cache, references, earlier } = this.#context;
    for (const { targetText, value } of references) {
      if ([plan, earlier[value.operation]!].some((each) => reachesWorkers(each, cache))) {
        throw errors.invalidReference(targetText, "Citus distributes rows of the operations");
      }
    }
    const kept = usedColumns === null ? plan : keptColumns(plan, usedColumns, cache);
    const members = references.map(({ target, value }) => ({ name: target.column, value }));
    return queryOf(kept, {
      ...(this.#body === null ? {} : { substitute: { ...this.#body, members } }),
      ...(usedColumns === null ? {} : { keptFor: index }),
    });
  }

  #payloadOf(request: ApiRequest): JsonPayload {
    const { payload, query: { columns, columnTree } } = request;
    for (const { target: { column, shape }, targetText, value } of this.#context.references) {
      const reason = payload?.kind !== "json"
        ? "The operation has no body with members"
        : columnTree !== null
        ? "A nested insert takes no references"
        : payload.shape !== shape
        ? `The body is ${payload.shape === "array" ? "an array: use '/*/…'" : "not an array"}`
        : value.part.kind === "all" && shape === "object"
        ? "One object takes no values of all rows"
        : writtenMembers(payload as JsonPayload, columns).includes(column)
        ? "The body has the member, too"
        : this.#refuseColumn(request, column);
      if (reason !== null) throw errors.invalidReference(targetText, reason);
    }
    return this.#body = payload as JsonPayload;
  }

  #refuseColumn({ action, schema }: ApiRequest, column: string): string | null {
    if (!("relation" in action)) return null;
    const relation = this.#context.cache.relation({ schema, name: action.relation });
    const isMissing = relation && !this.#context.cache.column(relation, column);
    return isMissing ? `'${action.relation}' has no column '${column}'` : null;
  }
}

/** Returns the names of the body's members that are written. `columns` are the columns in the URL. */
function writtenMembers(
  { keys, text }: JsonPayload,
  columns: readonly string[] | null,
): readonly string[] {
  if (keys !== null || columns === null) return keys ?? [];
  // The members are read here: the decoder skips them if the URL names the columns.
  const scan = new JsonRowsScan({ keysMayVary: true });
  scan.push(text);
  const rows = scan.end();
  return rows.kind === "rows" ? rows.keys.filter((name) => columns.includes(name)) : [];
}

/** Returns why a plan's result cannot contain the referenced value; null if it may contain it. */
function refuseSource(
  plan: DataPlan,
  { part }: ResultValue,
  { cache, isRestricted }: ReferenceContext,
): string | null {
  if (plan.kind === "mutate") {
    const { mutate: { relation, ...mutate } } = plan;
    if (part.kind === "scalar") return "The result of a write has columns";
    if (cache.column(relation, part.column) === undefined) {
      return `'${relation.name}' has no column '${part.column}'`;
    }
    const isKnown = relation.primaryKey.includes(part.column) ||
      mutate.read?.root.items.some((item) =>
        item.kind === "all" || item.kind === "column" && item.field.column === part.column &&
          item.field.path.length === 0
      );
    if (isRestricted && !isKnown) return `The result has no member '${part.column}'`;
    const isUnread = mutate.kind === "insert" && mutate.nested !== null &&
      mutate.returning === "none" && mutate.conflict?.resolution !== "find";
    return isUnread ? "A nested insert returns its rows with Prefer: return=headers-only" : null;
  }
  const { format: { kind } } = plan.representation;
  const isVoid = plan.kind === "call" && plan.call.routine.returns.void;
  if (plan.headersOnly || isVoid) return "The result has no body";
  if (kind !== "array" && kind !== "object") return "The result is not JSON";
  const isScalar = plan.kind === "call" && plan.call.scalarColumn !== null;
  if (part.kind === "scalar") return isScalar ? null : "The result has columns";
  if (isScalar && part.kind !== "only" && !plan.call.routine.returns.set) {
    return "The result is one value";
  }
  const { root } = plan.kind === "read" ? plan.read : plan.call.read;
  const isUntyped = plan.kind === "call";
  if (isUntyped || keysOf(root, cache).has(part.column)) return null;
  return `The result has no member '${part.column}'`;
}

/** Returns whether workers of Citus may run a part of a plan. The results are stored in settings,
 * which workers do not have. */
function reachesWorkers(plan: DataPlan, cache: SchemaCache): boolean {
  if (plan.kind === "call") return cache.data.isDistributed === true;
  const { read, relation } = plan.kind === "mutate" ? plan.mutate : { ...plan.read, ...plan };
  const reached = read === null ? [] : reachOf(read.root, relation, cache).relations;
  return [relation, ...reached].some((name) => name && cache.relation(name)?.isOnWorkers);
}

/** Returns the member names of the JSON objects that a node returns. */
function keysOf({ items, embeds, relation }: ReadNode, cache: SchemaCache): ReadonlySet<string> {
  const cached = relation === null ? undefined : cache.relation(relation);
  const ofItems = items.flatMap((item) =>
    item.kind === "all" ? cached?.columns.map(({ name }) => name) ?? [] : [item.key]
  );
  const ofEmbeds = embeds.filter(({ hasOutput }) => hasOutput).flatMap((embed) =>
    isSpread(embed) ? [...keysOf(embed.node, cache)] : [embed.key]
  );
  return new Set([...ofItems, ...ofEmbeds]);
}

/** Returns a plan that also returns these columns of written rows, if they exist. */
function keptColumns(
  plan: DataPlan,
  columns: ReadonlySet<string>,
  cache: SchemaCache,
): DataPlan {
  if (plan.kind !== "mutate") return plan;
  const { mutate } = plan;
  const kept = [...columns].filter((name) => cache.column(mutate.relation, name) !== undefined);
  return { ...plan, mutate: { ...mutate, kept } };
}

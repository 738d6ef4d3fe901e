/**
 * Plans an operation whose values come from earlier operations, or whose result later ones use.
 *
 * @module
 */
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import { arrayLiteral } from "../query/array_literal.ts";
import type { Query } from "../query/query.ts";
import { type AddedMember, resultCheck, type Substitute } from "../query/result_reference.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { JsonPayload } from "../request/divided_body.ts";
import { JsonRowsScan } from "../request/json_rows.ts";
import { canonicalQuery, splitQuery } from "../request/query_string.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import type { ParamValue } from "../sql/fragment.ts";
import type { ReferenceCheck } from "../transaction/batch_transaction.ts";
import { type DataPlan, queryOf } from "../transaction/data_plan.ts";
import { comparedTexts } from "./compared_texts.ts";
import type { BatchReference } from "./references.ts";
import { keptColumns, refuseSource } from "./result_source.ts";

/** The references of an operation, and the plans around it. */
export interface ReferenceContext {
  readonly index: number;
  readonly references: readonly BatchReference[];
  /** Columns of the operation that later ones use; null if they use none. */
  readonly usedColumns: ReadonlySet<string> | null;
  /** Plans of the operations before. */
  readonly earlier: readonly DataPlan[];
  readonly cache: SchemaCache;
}

type MemberReference = BatchReference & {
  readonly target: Extract<BatchReference["target"], { kind: "member" }>;
};

/** The references of one operation, in the order of its planning. */
export class OperationReferences {
  readonly #context: ReferenceContext;
  readonly #pieces: RawRequest;
  /** Texts that no client can guess, in the places of the names in the URL. */
  readonly #marks = new Map<string, BatchReference>();
  readonly #prefix = `svc${crypto.randomUUID().replaceAll("-", "")}`;
  /** The request to plan: its query string has marks. */
  readonly marked: RawRequest;
  #body: JsonPayload | null = null;

  /** Throws `142` for a name that the URL lacks, and for a source that has no such value. */
  constructor(pieces: RawRequest, context: ReferenceContext) {
    this.#context = context;
    this.#pieces = pieces;
    for (const reference of context.references) this.#checkSource(reference);
    this.marked = { ...pieces, query: this.#mark(pieces.query) };
  }

  /** Checks of the results that the operation uses, before its statements. */
  get checks(): readonly ReferenceCheck[] {
    return this.#context.references.flatMap(({ target, value, source }) => {
      const body = target.kind === "member" && target.shape === "array" ? this.#body!.text : null;
      const statement = resultCheck(value, body);
      return statement === null ? [] : [{ statement, source }];
    });
  }

  /** Adds the names of the referring members to a request. Throws `142`. */
  bind(request: ApiRequest): ApiRequest {
    const restored = this.#marks.size === 0 ? request : this.#withSentQuery(request);
    const members = this.#members;
    if (members.length === 0) return restored;
    const payload = this.#payloadOf(request, members);
    const names = members.map(({ target }) => target.column);
    const withNames = (own: readonly string[]) => [...new Set([...own, ...names])].sort();
    const { query } = restored;
    if (query.columns !== null) {
      return { ...restored, query: { ...query, columns: withNames(query.columns) } };
    }
    return { ...restored, payload: { ...payload, keys: withNames(payload.keys ?? []) } };
  }

  /** Returns the request with the query string that responses show. */
  #withSentQuery(request: ApiRequest): ApiRequest {
    const canonical = canonicalQuery(splitQuery(this.#pieces.query.toWellFormed()));
    return { ...request, query: { ...request.query, canonical } };
  }

  /** Returns the SQL of the plan. Throws `142` if a name is not a whole value. */
  query(plan: DataPlan): Query {
    const { index, usedColumns, cache } = this.#context;
    const substitutes = this.#substitutes(plan);
    const kept = usedColumns === null ? plan : keptColumns(plan, usedColumns, cache);
    const keptFor = usedColumns === null ? {} : { keptFor: index };
    const query = queryOf(kept, { substitutes, ...keptFor });
    this.#refuseMarks(query);
    return query;
  }

  /** Returns an error with the names as they were sent. */
  unmarked(error: unknown): unknown {
    if (!(error instanceof ServiceError) || this.#marks.size === 0) return error;
    const { details, hint, message, ...fields } = error.fields;
    const shown = (text: string) => {
      let result = text;
      for (const [mark, { targetText }] of this.#marks) {
        result = result.replaceAll(mark, targetText);
      }
      return result;
    };
    return new ServiceError({
      ...fields,
      message: shown(message),
      details: typeof details === "string" ? shown(details) : details ?? null,
      hint: hint == null ? null : shown(hint),
    });
  }

  #checkSource({ targetText, value }: BatchReference): void {
    const reason = refuseSource(
      this.#context.earlier[value.operation]!,
      value,
      this.#context.cache,
    );
    if (reason !== null) throw errors.invalidReference(targetText, reason);
  }

  #mark(query: string): string {
    let marked = query;
    for (const reference of this.#context.references) {
      const { target, targetText } = reference;
      if (target.kind !== "url") continue;
      const pieces = marked.split(target.text);
      if (pieces.length === 1) throw errors.invalidReference(targetText, "It is not in the URL");
      marked = pieces.reduce((before, piece) => {
        const mark = `${this.#prefix}x${this.#marks.size}x`;
        this.#marks.set(mark, reference);
        return `${before}${mark}${piece}`;
      });
    }
    return marked;
  }

  get #members(): readonly MemberReference[] {
    return this.#context.references.filter((reference): reference is MemberReference =>
      reference.target.kind === "member"
    );
  }

  #payloadOf(request: ApiRequest, members: readonly MemberReference[]): JsonPayload {
    const { payload, query: { columns, columnTree } } = request;
    for (const { target: { column, shape }, targetText, value } of members) {
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
    if (relation === undefined || this.#context.cache.column(relation, column) !== undefined) {
      return null;
    }
    return `'${action.relation}' has no column '${column}'`;
  }

  #substitutes(plan: DataPlan): ReadonlyMap<ParamValue, Substitute> {
    const substitutes = new Map<ParamValue, Substitute>();
    const unused = new Map(this.#marks);
    for (const place of comparedTexts(plan, this.#context.cache)) {
      const reference = this.#marks.get(place.text);
      if (reference === undefined) continue;
      unused.delete(place.text);
      const { value, targetText } = reference;
      if (place.type === undefined) {
        throw errors.invalidReference(targetText, "The type of the compared value is unknown");
      }
      if (place.isList) {
        substitutes.set(arrayLiteral([place.text]), { kind: "array", value, type: place.type });
      } else if (value.part.kind === "all") {
        throw errors.invalidReference(targetText, "Values of all rows need in.(…)");
      } else substitutes.set(place.text, { kind: "value", value, type: place.type });
    }
    for (const { targetText } of unused.values()) throw partOfText(targetText);
    const body = this.#body;
    if (body !== null) {
      const { text, shape } = body;
      const members = this.#members.map(({ target, value }): AddedMember => ({
        name: target.column,
        value,
      }));
      substitutes.set(text, { kind: "body", text, shape, members });
    }
    return substitutes;
  }

  /** Throws `142` for a mark that is a part of a longer text, or of the SQL. */
  #refuseMarks({ main, estimate, writes = [] }: Query): void {
    if (this.#marks.size === 0) return;
    const statements = [main, ...estimate === null ? [] : [estimate]];
    const all = [...statements, ...writes.map(({ statement }) => statement)];
    const texts = all.flatMap(({ text, params }) => [
      text,
      ...params.filter((value) => typeof value === "string"),
    ]);
    for (const [mark, { targetText }] of this.#marks) {
      if (texts.some((text) => text.includes(mark))) throw partOfText(targetText);
    }
  }
}

/** Returns the names of the members of a body that are written. `columns` are those of the URL. */
function writtenMembers(
  { keys, text }: JsonPayload,
  columns: readonly string[] | null,
): readonly string[] {
  if (keys !== null || columns === null) return keys ?? [];
  // The decoder has not read the members, as the URL names the columns.
  const scan = new JsonRowsScan({ keysMayVary: true });
  scan.push(text);
  const rows = scan.end();
  return rows.kind === "rows" ? rows.keys.filter((name) => columns.includes(name)) : [];
}

function partOfText(target: string): ServiceError {
  return errors.invalidReference(target, "It is not a whole value of a filter or an argument");
}

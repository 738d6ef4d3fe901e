/** Caches plans by query shape: the values of a request become parameters. @module */
import type { Statement } from "../../../database/transaction.ts";
import { plan } from "../../plan/plan.ts";
import { isRetrySafeRead, mayChangeSession } from "../../plan/retry_safe.ts";
import type { Query } from "../../query/query.ts";
import { tagsParam } from "../../query/row_version.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import { parseHead } from "../../request/parse_request.ts";
import {
  noPreconditions,
  preconditionHeaders,
  readPreconditions,
} from "../../request/preconditions.ts";
import type { PayloadReader } from "../../request/body/payload.ts";
import type { RawRequest } from "../../request/raw_request.ts";
import type { RoleSettings } from "../../../state/config/in_database.ts";
import type { Config } from "../../../state/config/options.ts";
import type { SchemaCache } from "../../../state/schema_cache/schema_cache.ts";
import type { ParamValue } from "../../../base/sql/fragment.ts";
import { type DataPlan, queryOf } from "../../transaction/data_plan.ts";
import type { PlannedQuery, ScriptKind } from "../../transaction/script.ts";
import { canonicalOf, payloadKey, type QueryShape, queryWith } from "./query_shape.ts";
import type { Payload } from "../../request/body/body_decoder.ts";

interface PlanBasis {
  readonly config: Config;
  /** Null before the first load. */
  readonly cache: SchemaCache | null;
  /** Role settings, which scripts depend on. */
  readonly roles: RoleSettings;
}

export interface PlannedRequest {
  readonly request: ApiRequest;
  readonly planned: PlannedQuery;
}

/** The statements of a request shape. Parameters are constants, or values of the request. */
interface QueryTemplate {
  readonly query: Query;
  /** For each statement, in the order of {@linkcode mapStatements}: the source of each parameter. It
   * is the index of a value in the shape, or one of the constants below. */
  readonly sources: readonly (readonly number[])[];
}

/** Source of a parameter that does not depend on the request. */
const constantSource = -1;
const bodySource = -2;
/** Source of a parameter with the list of tags of a precondition. */
const tagsSource = -3;

interface Bindings {
  readonly values: readonly string[];
  readonly text: ParamValue;
  /** The entity tags of a precondition as one parameter; null if the request lists none. */
  readonly tags: string | null;
}

/** The cached plan of a shape. By this object, the pool recognises transactions of the shape. */
interface CachedPlan extends ScriptKind {
  readonly request: ApiRequest;
  readonly plan: DataPlan;
  readonly query: QueryTemplate;
  readonly isRetrySafe: boolean;
  readonly mayChangeSession: boolean;
}

export interface Example {
  readonly raw: RawRequest;
  readonly payload: Payload | null;
  /** Reader of the body; null without a body. */
  readonly reader: PayloadReader | null;
  readonly query: Query;
}

/** Maximum number of plans. The oldest is evicted first. */
const maxPlans = 1000;
/** Maximum number of shapes that occurred once. All are discarded at a time. */
const maxCandidates = 4096;

export class PlanCache {
  readonly #basis: PlanBasis;
  readonly #plans = new Map<string, CachedPlan>();
  readonly #readers = new Map<string, PayloadReader>();
  /** Shapes that occurred once. The second request of a shape caches its plan. */
  readonly #candidates = new Set<string>();

  constructor(basis: PlanBasis) {
    this.#basis = basis;
  }

  /** Returns whether the plans belong to this configuration, schema cache and role settings. */
  isOf({ config, cache, roles }: PlanBasis): boolean {
    const basis = this.#basis;
    return config === basis.config && cache === basis.cache && roles === basis.roles;
  }

  /** Returns the reader for the body of a request; null without a body, undefined if unknown. */
  bodyReader({ key, hasBody }: QueryShape): PayloadReader | null | undefined {
    return hasBody ? this.#readers.get(key) : null;
  }

  /** Returns the plan for a request of a cached shape; undefined if the shape is not cached. */
  lookup(
    shape: QueryShape,
    { headers, cookies, query: queryString, received }: RawRequest,
    payload: Payload | null,
  ): PlannedRequest | undefined {
    const keyOfPayload = payloadKey(payload);
    const cached = keyOfPayload === null ? undefined : this.#plans.get(shape.key + keyOfPayload);
    if (cached === undefined) return undefined;
    const { values, offsetAt } = shape;
    const { plan, isRetrySafe, mayChangeSession } = cached;
    const first = offsetAt < 0 ? 0n : BigInt(values[offsetAt]!);
    const { action, preconditions } = cached.request;
    const request = {
      ...cached.request,
      payload,
      preconditions: preconditions === noPreconditions
        ? noPreconditions
        : readPreconditions(action, { headers, received }),
      headers,
      cookies,
      queryString: received?.query ?? queryString,
      bounds: offsetAt < 0 ? cached.request.bounds : { first, last: null },
      // The canonical query string is computed only for responses that contain it.
      query: plan.kind === "read" || cached.request.queryForm !== undefined
        ? { ...cached.request.query, canonical: canonicalOf(shape, cached.request) }
        : cached.request.query,
    };
    const query = boundQuery(cached.query, {
      values,
      text: payload?.kind === "json" ? payload.text : null,
      tags: tagsParam(request),
    });
    return { request, planned: { plan, query, kind: cached, isRetrySafe, mayChangeSession } };
  }

  /** Caches the plan of a request if its shape has occurred before. Otherwise records the shape. */
  insert(shape: QueryShape, example: Example): void {
    const keyOfPayload = payloadKey(example.payload);
    if (keyOfPayload === null) return;
    const key = shape.key + keyOfPayload;
    if (!this.#candidates.has(key)) {
      if (this.#candidates.size >= maxCandidates) this.#candidates.clear();
      this.#candidates.add(key);
      return;
    }
    const cached = this.#tryTemplates(shape, example);
    if (cached === null) return;
    put(this.#plans, key, cached);
    if (example.reader !== null) put(this.#readers, shape.key, example.reader);
  }

  #tryTemplates(shape: QueryShape, example: Example): CachedPlan | null {
    try {
      return this.#templates(shape, example);
    } catch {
      // The plan is not cached: the service parses one of the values, and refuses the sentinel.
      return null;
    }
  }

  /**
   * Plans the request with sentinels as values, and records which parameter contains each sentinel.
   * Returns null if a sentinel does not become a parameter unchanged: then the SQL depends on the
   * value.
   */
  #templates(shape: QueryShape, { raw, payload, query }: Example): CachedPlan | null {
    const { config, cache } = this.#basis;
    if (cache === null) return null;
    const { values, tag } = sentinelsFor(shape);
    const headers = withSentinelTags(raw.headers, tag);
    const head = parseHead({ ...raw, headers, query: queryWith(shape, values) }, config);
    const text = new Uint8Array(0);
    const sentinels = { values, text, tags: tagsParam(head.request) };
    const emptied = payload?.kind === "json" ? { ...payload, text } : payload;
    const planned = plan({ ...head.request, payload: emptied }, cache, config);
    if (planned.kind === "root" || planned.kind === "options") return null;
    const template = queryTemplate(queryOf(planned), query, sentinels);
    if (template === null) return null;
    // The cached request has no headers and cookies, because these belong to one client.
    const bare = { ...head.request, headers: {}, cookies: {} };
    const isRetrySafe = isRetrySafeRead(planned, cache);
    return {
      compiled: new Map(),
      request: bare,
      plan: planned,
      query: template,
      isRetrySafe,
      mayChangeSession: mayChangeSession(planned, cache),
    };
  }
}

/** Puts an entry into a map. Evicts the oldest one if the map is full. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size > maxPlans) map.delete(map.keys().next().value!);
}

/** Returns sentinels. Clients cannot guess the texts, and cannot send the digits of the offset by accident. */
function sentinelsFor({ values, offsetAt }: QueryShape) {
  const secret = crypto.randomUUID().replaceAll("-", "");
  const digits = String(900_000_000 + crypto.getRandomValues(new Uint32Array(1))[0]! % 99_999_999);
  return {
    values: values.map((_, position) => position === offsetAt ? digits : `${secret}_${position}`),
    tag: `"${secret.slice(0, 16)}-${secret}"`,
  };
}

/** Returns headers in which preconditions list one sentinel tag, unless they are `*`. */
function withSentinelTags(headers: RawRequest["headers"], tag: string): RawRequest["headers"] {
  const listing = preconditionHeaders.filter((name) =>
    headers[name] !== undefined && headers[name].trim() !== "*"
  );
  if (listing.length === 0) return headers;
  return { ...headers, ...Object.fromEntries(listing.map((name) => [name, tag])) };
}

/** Returns the template of a query with sentinels; null if more than the values differ from the real query. */
function queryTemplate(query: Query, real: Query, sentinels: Bindings): QueryTemplate | null {
  const [own, others] = [statementsOf(query), statementsOf(real)];
  if (own.length !== others.length) return null;
  const sources = own.map(({ params }) => params.map((value) => sourceOf(value, sentinels)));
  const isSame = own.every(({ text, params }, index) => {
    const other = others[index]!;
    return text === other.text && params.length === other.params.length &&
      params.every((value, at) =>
        sources[index]![at] !== constantSource || value === other.params[at]
      );
  });
  return isSame ? { query, sources } : null;
}

function statementsOf(query: Query): readonly Statement[] {
  const statements: Statement[] = [];
  mapStatements(query, (statement) => {
    statements.push(statement);
    return statement;
  });
  return statements;
}

/** Returns a query with other statements. The main statement comes first, writes come last. */
function mapStatements(
  { main, estimate, unversioned, writes }: Query,
  map: (statement: Statement, index: number) => Statement,
): Query {
  let count = 0;
  const next = (statement: Statement) => map(statement, count++);
  return {
    main: next(main),
    estimate: estimate === null ? null : next(estimate),
    ...(unversioned === undefined ? {} : { unversioned: next(unversioned) }),
    ...(writes === undefined
      ? {}
      : { writes: writes.map((write) => ({ ...write, statement: next(write.statement) })) }),
  };
}

function sourceOf(value: ParamValue, { values, text, tags }: Bindings): number {
  if (value === text) return bodySource;
  if (tags !== null && value === tags) return tagsSource;
  return typeof value === "string" ? values.indexOf(value) : constantSource;
}

function boundQuery({ query, sources }: QueryTemplate, bindings: Bindings): Query {
  return mapStatements(query, (statement, index) => ({
    ...statement,
    params: statement.params.map((value, at) => {
      const source = sources[index]![at]!;
      if (source >= 0) return bindings.values[source]!;
      if (source === constantSource) return value;
      return source === tagsSource ? bindings.tags : bindings.text;
    }),
  }));
}

/**
 * What requests of a shape came to, so that the next one of it goes from its values to parameters
 * without being planned again.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import { Pace } from "../database/pace.ts";
import { plan } from "../plan/plan.ts";
import type { Query } from "../query/query.ts";
import type { ApiRequest, Payload } from "../request/api_request.ts";
import { parseHead, type PayloadReader } from "../request/parse_request.ts";
import type { RequestPieces } from "../request/pieces.ts";
import type { Snapshot } from "../snapshot.ts";
import type { ParamValue } from "../sql/fragment.ts";
import { type Asked, type DataPlan, isQuiet, queryOf } from "../transaction.ts";
import { canonicalOf, payloadKey, queryWith, type Shape } from "./shape.ts";

/** A request that is understood: what it says, and what that asks of the database. */
export interface Understood {
  readonly request: ApiRequest;
  readonly asked: Asked;
}

/** A statement whose parameters are values of the request, or always the same. */
interface Template {
  readonly statement: Statement;
  /** For each parameter the position of its value, or one of the following. */
  readonly slots: readonly number[];
}

/** The statements of a request. */
interface QueryTemplate {
  readonly main: Template;
  readonly estimate: Template | null;
}

/** The parameter is always the same. */
const fixed = -1;
/** The parameter is the body, as rows or as it was sent. */
const bodyText = -2;
const bodyRaw = -3;

/** What takes the places of slots. */
interface Filling {
  readonly values: readonly string[];
  readonly text: ParamValue;
  readonly raw: ParamValue;
}

interface Known {
  /** Without headers and cookies. */
  readonly request: ApiRequest;
  readonly plan: DataPlan;
  readonly query: QueryTemplate;
  /** Of a plan that is quiet, to be carried out like that. */
  readonly quiet: QueryTemplate | null;
  readonly pace: Pace;
}

/** So many shapes are remembered; those that were learnt first go first. */
const mostShapes = 1000;
/** Shapes that were met once are remembered up to so many, all of which are then forgotten. */
const mostMet = 4096;

/** Shapes under one configuration and one schema cache. */
export class ShapeCache {
  readonly #snapshot: Snapshot;
  readonly #known = new Map<string, Known>();
  /** How bodies of requests of a shape are read. */
  readonly #readers = new Map<string, PayloadReader>();
  /** What was met once: only shapes that come again are learnt. */
  readonly #met = new Set<string>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Whether the shapes were learnt under this state. */
  isOf({ config, cache }: Snapshot): boolean {
    return config === this.#snapshot.config && cache === this.#snapshot.cache;
  }

  /** How the body of a request is read; null where it has none, undefined where it is not known. */
  bodyReader({ key, hasBody }: Shape): PayloadReader | null | undefined {
    return hasBody ? this.#readers.get(key) : null;
  }

  /** Understands a request by its shape; undefined when the shape is not known. */
  understand(shape: Shape, pieces: RequestPieces, payload: Payload | null): Understood | undefined {
    const more = payloadKey(payload);
    const known = more === null ? undefined : this.#known.get(shape.key + more);
    if (known === undefined) return undefined;
    const { values, offsetAt } = shape;
    const { plan, pace } = known;
    const query = (quiet: boolean): Query => {
      const { main, estimate } = quiet && known.quiet !== null ? known.quiet : known.query;
      const filling = fillingOf(values, payload);
      return {
        main: filled(main, filling),
        estimate: estimate === null ? null : filled(estimate, filling),
      };
    };
    const { headers, cookies } = pieces;
    const first = offsetAt < 0 ? 0n : BigInt(values[offsetAt]!);
    const request = {
      ...known.request,
      headers,
      cookies,
      window: offsetAt < 0 ? known.request.window : { first, last: null },
      // Only answers to what reads show it.
      query: plan.kind === "read"
        ? { ...known.request.query, canonical: canonicalOf(shape) }
        : known.request.query,
    };
    return { request, asked: { plan, query, pace } };
  }

  /** Notes a shape whose request was understood; learns it when it was met before. */
  learn(shape: Shape, example: Example): void {
    const more = payloadKey(example.payload);
    if (more === null) return;
    const key = shape.key + more;
    if (!this.#met.has(key)) {
      if (this.#met.size >= mostMet) this.#met.clear();
      this.#met.add(key);
      return;
    }
    const known = this.#tryKnowing(shape, example);
    if (known === null) return;
    put(this.#known, key, known);
    if (example.reader !== null) put(this.#readers, shape.key, example.reader);
  }

  #tryKnowing(shape: Shape, example: Example): Known | null {
    try {
      return this.#knownOf(shape, example);
    } catch {
      // A value that is looked at before it comes to PostgreSQL: the shape stays unknown.
      return null;
    }
  }

  /**
   * Puts marks in the places of the values, and looks where they come out again. Null when they do
   * not: the statement depends on the values then.
   */
  #knownOf(shape: Shape, { pieces, payload, query }: Example): Known | null {
    const { config, cache } = this.#snapshot;
    if (cache === null) return null;
    const marks = marksFor(shape);
    const head = parseHead({ ...pieces, query: queryWith(shape, marks.values) }, config);
    const request = { ...head.request, payload: marked(payload, marks) };
    const planned = plan(request, cache, config);
    if (planned.kind === "root" || planned.kind === "options") return null;
    const loud = queryTemplateOf(queryOf(planned, false), query(false), marks);
    const isSilent = isQuiet(planned, config);
    const quiet = isSilent ? queryTemplateOf(queryOf(planned, true), query(true), marks) : null;
    if (loud === null || (isSilent && quiet === null)) return null;
    // What a client sent is not kept: others come with headers of their own.
    const bare = { ...head.request, headers: {}, cookies: {} };
    return { request: bare, plan: planned, query: loud, quiet, pace: new Pace() };
  }
}

/** A request of a shape, and what it came to. */
export interface Example {
  readonly pieces: RequestPieces;
  readonly payload: Payload | null;
  /** How its body was read; null when it has none. */
  readonly reader: PayloadReader | null;
  readonly query: Asked["query"];
}

/** Puts a member into a map that forgets its oldest one when it is full. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  if (map.size <= mostShapes) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** Texts that no client can guess; for an offset digits that nobody asks for by accident. */
function marksFor({ values, offsetAt }: Shape): Filling {
  const secret = crypto.randomUUID().replaceAll("-", "");
  const digits = String(900_000_000 + crypto.getRandomValues(new Uint32Array(1))[0]! % 99_999_999);
  return {
    values: values.map((_, position) => position === offsetAt ? digits : `${secret}_${position}`),
    text: new Uint8Array(0),
    raw: new Uint8Array(0),
  };
}

function marked(payload: Payload | null, { text, raw }: Filling): Payload | null {
  if (payload?.kind !== "json") return payload;
  return { ...payload, text: text as Uint8Array, raw: raw as Uint8Array };
}

function fillingOf(values: readonly string[], payload: Payload | null): Filling {
  return payload?.kind === "json"
    ? { values, text: payload.text, raw: payload.raw }
    : { values, text: null, raw: null };
}

function queryTemplateOf(withMarks: Query, real: Query, marks: Filling): QueryTemplate | null {
  const main = templateOf(withMarks.main, real.main, marks);
  const estimate = withMarks.estimate === null || real.estimate === null
    ? null
    : templateOf(withMarks.estimate, real.estimate, marks);
  if (main === null || (withMarks.estimate === null) !== (estimate === null)) return null;
  return { main, estimate };
}

/** Null unless a statement with marks differs from the one with values by them alone. */
function templateOf(withMarks: Statement, real: Statement, marks: Filling): Template | null {
  if (withMarks.text !== real.text || withMarks.params.length !== real.params.length) return null;
  const slots = withMarks.params.map((value) => slotOf(value, marks));
  const isSame = slots.every((slot, index) =>
    slot !== fixed || withMarks.params[index] === real.params[index]
  );
  return isSame ? { statement: withMarks, slots } : null;
}

function slotOf(value: ParamValue, { values, text, raw }: Filling): number {
  if (value === text) return bodyText;
  if (value === raw) return bodyRaw;
  return typeof value === "string" ? values.indexOf(value) : fixed;
}

function filled({ statement, slots }: Template, filling: Filling): Statement {
  const { text, use } = statement;
  const params = statement.params.map((value, index) => {
    const slot = slots[index]!;
    if (slot >= 0) return filling.values[slot]!;
    return slot === fixed ? value : slot === bodyText ? filling.text : filling.raw;
  });
  return { text, params, use };
}

/** Plans a request while its body arrives: first its head, then the keys of the body. @module */
import type { ApiRequest } from "../request/api_request.ts";
import { type BodySource, type LongBodyChecks, readBody } from "../request/body/body.ts";
import type { PayloadReader } from "../request/body/payload.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { type Plan, plan, type PlanConfig, planWithoutBody } from "./plan.ts";
import type { Payload } from "../request/body/body_decoder.ts";

interface BodyPlanInput {
  readonly request: ApiRequest;
  readonly reader: PayloadReader;
  readonly cache: SchemaCache;
  readonly config: PlanConfig;
}

/** A request with its body, and its plan. */
interface PlannedBody {
  readonly request: ApiRequest;
  readonly planned: Plan;
}

interface BodyPlanOptions {
  /** Returns the request to plan, with its body. */
  readonly complete: (sent: ApiRequest) => ApiRequest;
  /** Whether an invalid request is rejected before a long body has arrived. */
  readonly isChecked: boolean;
  /** Whether the body must not be divided. */
  readonly isWhole: boolean;
}

export class BodyPlan {
  readonly #input: BodyPlanInput;
  #head: Plan | null = null;
  #keys: { readonly payload: Payload; readonly plan: Plan } | null = null;

  constructor(input: BodyPlanInput) {
    this.#input = input;
  }

  /** Receives the body, and plans the request with it. With `isChecked`, checks the head before a
   * long body arrives, and the keys of the body as soon as they are known. */
  async receive(
    source: BodySource,
    { complete, isChecked, isWhole }: BodyPlanOptions,
  ): Promise<PlannedBody> {
    const { request: head, reader, cache, config } = this.#input;
    const checks: LongBodyChecks = isChecked
      ? { head: () => void this.planHead(), keys: (payload) => void this.planKeys(payload) }
      : {};
    const isDivisible = (payload: Payload | null) => !isWhole && this.isDivisible(payload);
    const payload = await readBody(source, reader, { ...checks, isDivisible });
    const sent = { ...head, payload };
    const request = complete(sent);
    const planned = request === sent ? this.planKeys(payload) : plan(request, cache, config);
    return { request, planned };
  }

  /** Plans the head. Throws the errors that do not depend on the body. Returns null if the plan
   * needs arguments. */
  planHead(): Plan | null {
    const { request, reader: { format }, cache, config } = this.#input;
    return this.#head ??= planWithoutBody(request, format, cache, config);
  }

  /** Plans a body with known keys. Throws the errors of {@linkcode plan}. */
  planKeys(payload: Payload): Plan {
    const { request, cache, config } = this.#input;
    const planned = this.#keys !== null && hasSameKeys(this.#keys.payload, payload)
      ? withRows(this.#keys.plan, payload)
      : null;
    if (planned !== null) return planned;
    this.#keys = { payload, plan: plan({ ...request, payload }, cache, config) };
    return this.#keys.plan;
  }

  /** Returns whether several statements may insert the rows of the payload; of any payload, if
   * null. */
  isDivisible(payload: Payload | null): boolean {
    if (this.#input.request.action.kind !== "insert") return false;
    return isDivisibleInsert(payload === null ? this.planHead()! : this.planKeys(payload));
  }
}

/**
 * Returns whether neither the database nor the client can distinguish several inserts from one. The
 * result has no rows, no row is written twice, and no user-defined function computes or checks
 * values: see `Relation.hasDivisibleInserts`.
 */
function isDivisibleInsert(plan: Plan): boolean {
  if (plan.kind !== "mutate" || plan.action !== "insert") return false;
  const { mutate, representation } = plan;
  return mutate.kind === "insert" &&
    mutate.nested === null &&
    mutate.relation.hasDivisibleInserts === true &&
    mutate.returning === "none" &&
    mutate.conflict?.resolution !== "merge" &&
    mutate.rows.columns.every(({ fromJson }) => fromJson === null) &&
    representation.explain === null &&
    // One statement must count the rows for a response with a single object.
    representation.format.kind !== "object";
}

function hasSameKeys(one: Payload, other: Payload): boolean {
  return one.kind === "json" && other.kind === "json" && one.source === other.source &&
    one.shape === other.shape && one.keysVary === other.keysVary &&
    one.keys?.length === other.keys?.length &&
    (one.keys ?? []).every((key, index) => key === other.keys![index]);
}

/** Returns a plan with the rows of another body; null if the plan depends on more than the body's keys. */
function withRows(planned: Plan, payload: Payload): Plan | null {
  if (planned.kind !== "mutate" || payload.kind !== "json") return null;
  const { mutate } = planned;
  if (mutate.kind !== "insert" && mutate.kind !== "update") return null;
  if (mutate.kind === "insert" && mutate.nested !== null) return null;
  return { ...planned, mutate: { ...mutate, rows: { ...mutate.rows, json: payload.text } } };
}

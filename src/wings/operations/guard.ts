/** Enforces operations: requests of other forms are rejected. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { percentDecode } from "../../base/http/percent.ts";
import type {
  BrokenOperation,
  DescribedOperation,
} from "../../api/response/openapi/described_operation.ts";
import type { Exchange, GuardedRequest, RequestGuard } from "../../api/handler/exchange.ts";
import type { QueryShape } from "../../api/handler/plan_cache/query_shape.ts";
import { plan } from "../../api/plan/plan.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import { isClauseName } from "../../api/request/url/clause_params.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { allowsBody } from "./body_pattern.ts";
import { describeOperation } from "./describe.ts";
import { type Form, formOf } from "./form.ts";
import { nearestText } from "./nearest.ts";
import { type OperationLine, parseOperations } from "./operation_file.ts";
import {
  allows,
  hasLiterals,
  indexOperations,
  type OperationIndex,
  type OperationRule,
} from "./operation_index.ts";
import type { OperationsConfig } from "./operation_options.ts";
import { sentOperation } from "./sent_operation.ts";

/** Maximum number of forms that are cached by shape. A full cache is cleared. */
const maxForms = 4096;

/** Returns the guard of a snapshot; null without `operations`. */
export function openOperations(snapshot: Snapshot): RequestGuard | null {
  const { operations } = snapshot.config as OperationsConfig;
  return operations === null
    ? null
    : new OperationGuard(snapshot, parseOperations(operations.text));
}

/** Rejects requests that are not operations of their role. */
export class OperationGuard implements RequestGuard {
  readonly #snapshot: Snapshot;
  readonly #lines: readonly OperationLine[];
  readonly #roles: readonly string[] | null;
  /** Null before the first request, because a service starts without a schema cache. */
  #index: OperationIndex | null = null;
  readonly #forms = new Map<string, Form>();
  #described: readonly (BrokenOperation | DescribedOperation)[] | null = null;

  constructor(snapshot: Snapshot, lines: readonly OperationLine[]) {
    this.#snapshot = snapshot;
    this.#lines = lines;
    this.#roles = (snapshot.config as OperationsConfig).operationsRoles;
  }

  binds(role: string): boolean {
    return this.#roles?.includes(role) !== false;
  }

  check(exchange: Exchange, request: GuardedRequest): "text" | "keys" {
    const role = exchange.role ?? "";
    if (!this.binds(role)) return "keys";
    const { raw, payload, isPart } = request;
    const form = this.#formOf(request);
    if (form.action.kind === "root") return "keys";
    if (form.action.kind === "options") {
      const hasPath = this.#linesAt(raw.path, role).length > 0;
      return hasPath ? "keys" : this.#refuse(exchange, request, role);
    }
    const rules = this.#rulesOf(form).filter((rule) =>
      rule.line.roles.includes(role) && allows(rule, form)
    );
    const rule = rules.find(({ line: { body } }) =>
      payload === null ||
      allowsBody(body, payload) && !(body?.kind === "value" && this.#hasArguments(request))
    );
    if (rule === undefined) return this.#refuse(exchange, request, role);
    if (!isPart) exchange.operation = rule.line.name;
    return payload === null && rules.some(({ needsText }) => needsText) ? "text" : "keys";
  }

  operations(): readonly (BrokenOperation | DescribedOperation)[] {
    return this.#described ??= this.#lines.map((line) => {
      try {
        return describeOperation(line, this.#snapshot);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { ...line, problem: error.fields.message };
      }
    });
  }

  #rulesOf({ key }: Form): readonly OperationRule[] {
    this.#index ??= indexOperations(this.#lines, this.#snapshot);
    return this.#index.get(key) ?? [];
  }

  /** Returns the form of a request. The request is not parsed if all requests of its shape have one form. */
  #formOf({ raw, shape }: GuardedRequest): Form {
    const cachedForm = shape === null ? undefined : this.#forms.get(shape.key);
    if (cachedForm !== undefined) return withOffset(cachedForm, shape!);
    const { request } = parseHead(raw, this.#snapshot.config);
    const { query: { callArguments } } = request;
    const form = formOf(request, this.#snapshot);
    const rules = this.#rulesOf(form);
    // The form is kept for all requests of the shape, unless it depends on values: on literals, or
    // on whether a parameter is an argument or a clause.
    const isShared = !rules.some(hasLiterals) &&
      !callArguments.some(([name]) => isClauseName(name));
    if (shape !== null && isShared) {
      if (this.#forms.size >= maxForms) this.#forms.clear();
      this.#forms.set(shape.key, form);
    }
    return form;
  }

  /** Whether the members of a JSON body are arguments, and the body is not one unnamed argument. */
  #hasArguments({ raw, payload }: GuardedRequest): boolean {
    if (payload?.kind !== "json") return false;
    const { cache, config } = this.#snapshot;
    const planned = plan({ ...parseHead(raw, config).request, payload }, cache!, config);
    return planned.kind === "call" && planned.call.arguments.kind !== "whole";
  }

  #refuse(exchange: Exchange, { raw, payload, isPart }: GuardedRequest, role: string): never {
    exchange.operation = null;
    if (!isPart) exchange.admission?.refundIdentity();
    const { line } = sentOperation(raw, { role, payload }, this.#snapshot);
    const text = nearestText(line, this.#linesAt(raw.path, role));
    // The error shows operations only to clients with a token.
    throw errors.unknownOperation(text, exchange.identity?.authenticated === true);
  }

  #linesAt(path: string, role: string): readonly OperationLine[] {
    const decoded = percentDecode(path, "replace");
    return this.#lines.filter((line) =>
      line.roles.includes(role) && percentDecode(line.path, "replace") === decoded
    );
  }
}

function withOffset(form: Form, { offsetAt, values }: QueryShape): Form {
  if (offsetAt < 0) return form;
  return { ...form, rows: new Map([...form.rows, ["offset", BigInt(values[offsetAt]!)]]) };
}

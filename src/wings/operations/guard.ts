/** Enforces operations: requests of other forms are refused. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import type {
  BrokenOperation,
  DescribedOperation,
  SampleOf,
} from "../../api/described_operation.ts";
import type { Exchange } from "../../api/handler/exchange.ts";
import type { GuardedRequest, RequestGuard } from "../../api/handler/exchange.ts";
import { type QueryShape, queryWith } from "../../api/handler/plan_cache/query_shape.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { parseHead } from "../../api/request/parse_request.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { describeOperation } from "./describe.ts";
import { type Form, formOf } from "./form.ts";
import { masked } from "./mask.ts";
import { needText, OperationIndex, type OperationRule, withBody } from "./matcher.ts";
import { nearestText } from "./nearest.ts";
import { type OperationLine, parseOperations } from "./operation_file.ts";
import type { OperationsConfig } from "./operation_options.ts";

/** Most forms that are kept by the shapes of their requests; all are discarded together. */
const maxForms = 4096;

/** The form of the requests of a shape. */
interface ShapeForm {
  readonly form: Form;
  /** Null for requests that are always permitted. */
  readonly subject: "data" | "options" | null;
  readonly path: string;
  /** For each operand, the index of each value in the shape, or -1; null if no rule has values. */
  readonly slots: readonly (readonly number[])[] | null;
}

/** Returns the form of a request with a known shape. */
function boundForm(known: ShapeForm, { offsetAt, values }: QueryShape): ShapeForm {
  const { form, slots } = known;
  if (slots === null && offsetAt < 0) return known;
  const operands = slots === null ? form.operands : form.operands.map((operand, at) => ({
    ...operand,
    values: operand.values.map((value, index) => values[slots[at]![index]!] ?? value),
  }));
  if (offsetAt < 0) return { ...known, form: { ...form, operands } };
  const root = { ...form.levels.get("")!, offset: BigInt(values[offsetAt]!) };
  const levels = new Map([...form.levels, ["", root]]);
  return { ...known, form: { ...form, operands, levels } };
}

/** Makes the guard of a snapshot; null without `operations`. */
export function openOperations(snapshot: Snapshot): RequestGuard | null {
  const { operations } = snapshot.config as OperationsConfig;
  return operations === null
    ? null
    : new OperationGuard(snapshot, parseOperations(operations.text));
}

/** Refuses requests that are not operations of their role. */
export class OperationGuard implements RequestGuard {
  readonly #snapshot: Snapshot;
  readonly #operations: readonly OperationLine[];
  readonly #roles: ReadonlySet<string> | null;
  readonly #forms = new Map<string, ShapeForm>();
  /** No client can guess it. */
  readonly #secret = `v${crypto.randomUUID().replaceAll("-", "")}`;
  #index: OperationIndex | null = null;
  #described: readonly (BrokenOperation | DescribedOperation)[] | null = null;

  constructor(snapshot: Snapshot, operations: readonly OperationLine[]) {
    const { operationsRoles } = snapshot.config as OperationsConfig;
    this.#snapshot = snapshot;
    this.#operations = operations;
    this.#roles = operationsRoles === null ? null : new Set(operationsRoles);
  }

  /** The operations by role and form, once the schema cache is loaded. */
  get index(): OperationIndex {
    return this.#index ??= new OperationIndex(
      this.#operations,
      this.#snapshot.config,
      this.#context,
    );
  }

  binds(role: string): boolean {
    return this.#roles?.has(role) !== false;
  }

  check(exchange: Exchange, request: GuardedRequest): "text" | "keys" {
    const role = exchange.role ?? "";
    if (!this.binds(role)) return "keys";
    const { form, subject, path } = this.#formOf(request);
    if (subject === null) return "keys";
    const { index } = this;
    if (subject === "options") {
      const hasPath = index.of(role).some(({ operation }) => operation.path === path);
      return hasPath ? "keys" : this.#refuse(exchange, request, role);
    }
    const rules = index.find({ role, form });
    const [first] = rules;
    if (first === undefined) return this.#refuse(exchange, request, role);
    const { payload, isPart } = request;
    const rule = payload === null ? first : withBody(rules, payload);
    if (rule === null) return this.#refuse(exchange, request, role);
    if (!isPart) exchange.operation = rule.operation.name;
    return payload === null && needText(rules) ? "text" : "keys";
  }

  /** Describes the operations, once without samples. */
  operations(sampleOf?: SampleOf): readonly (BrokenOperation | DescribedOperation)[] {
    if (sampleOf !== undefined) return this.#describe(sampleOf);
    return this.#described ??= this.#describe(undefined);
  }

  #describe(sampleOf: SampleOf | undefined): readonly (BrokenOperation | DescribedOperation)[] {
    const { cache, config } = this.#snapshot;
    return this.#operations.map((operation) => {
      try {
        return describeOperation(operation, { cache: cache!, config, sampleOf });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { name, roles, line } = operation;
        return { name, roles, line, problem: error.fields.message };
      }
    });
  }

  get #context() {
    const { cache, config } = this.#snapshot;
    return { cache: cache!, config, dbPlanEnabled: config.dbPlanEnabled };
  }

  /** Returns the form of a request, without parsing it if its shape is known. */
  #formOf({ pieces, shape }: GuardedRequest): ShapeForm {
    if (shape === null) return this.#parsed(pieces);
    const found = this.#forms.get(shape.key);
    if (found !== undefined) return boundForm(found, shape);
    const parsed = this.#parsed(pieces);
    const shared = this.#shared(pieces, shape, parsed);
    if (shared === null) return parsed;
    if (this.#forms.size >= maxForms) this.#forms.clear();
    this.#forms.set(shape.key, shared);
    return parsed;
  }

  /** Returns the form with the places of values; null if the values of a shape change the form. */
  #shared(pieces: RawRequest, shape: QueryShape, { form }: ShapeForm): ShapeForm | null {
    const { values, offsetAt } = shape;
    const places = values.map((value, at) => at === offsetAt ? value : `${this.#secret}${at}`);
    try {
      const other = this.#parsed({ ...pieces, query: queryWith(shape, places) });
      if (other.form.key !== form.key) return null;
      const slots = this.index.valueKeys.has(form.key)
        ? other.form.operands.map((each) => each.values.map((value) => places.indexOf(value)))
        : null;
      return { ...other, slots };
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  #parsed(pieces: RawRequest): ShapeForm {
    const { request } = parseHead(pieces, this.#snapshot.config);
    const { kind } = request.action;
    const form = formOf(request, this.#context);
    const subject = kind === "root" ? null : kind === "options" ? kind : "data";
    return { form, subject, path: pieces.path, slots: null };
  }

  #refuse(exchange: Exchange, { pieces, payload, isPart }: GuardedRequest, role: string): never {
    if (!isPart) exchange.admission?.refundIdentity();
    const rules: readonly OperationRule[] = this.index.of(role);
    const text = this.#nearest({ pieces, payload, rules });
    // A client without a token must not learn what others may send.
    throw errors.unknownOperation(text, exchange.identity?.authenticated === true);
  }

  #nearest({ pieces, payload, rules }: {
    readonly pieces: GuardedRequest["pieces"];
    readonly payload: GuardedRequest["payload"];
    readonly rules: readonly OperationRule[];
  }): string {
    const none = "No operation has this path";
    try {
      const { operation } = masked(pieces, payload, this.#context);
      return nearestText({ ...operation, values: pieces.query }, rules, payload) ?? none;
    } catch (error) {
      if (error instanceof ServiceError) return none;
      throw error;
    }
  }
}

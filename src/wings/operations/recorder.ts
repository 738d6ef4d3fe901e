/** Records the operations of successful requests. @module */
import type { Exchange, GuardedRequest, RequestGuard } from "../../api/handler/exchange.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import { isFilter } from "../../api/request/url/query_params.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import { freeName } from "../../base/lib/free_name.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { allowsBody } from "./body_pattern.ts";
import type { Form } from "./form.ts";
import { type OperationLine, operationText, parseOperations } from "./operation_file.ts";
import { allows, indexOperations, type OperationRule, ruleOf } from "./operation_index.ts";
import { sentOperation, withRows } from "./sent_operation.ts";

/** A request that succeeded. */
type RecordedRequest = Pick<GuardedRequest, "payload" | "raw"> & { readonly role: string };

/** Collects operations that are not in a file. */
export class OperationRecorder {
  readonly #text: string;
  readonly #written: readonly OperationLine[];
  #added: readonly OperationLine[] = [];
  readonly #onChange: (text: string) => void;

  /** `onChange` receives the text of the file after each change. */
  constructor(text: string, onChange: (text: string) => void) {
    this.#text = text === "" || text.endsWith("\n") ? text : `${text}\n`;
    this.#written = parseOperations(text);
    this.#onChange = onChange;
  }

  /** The text of the file. */
  get text(): string {
    return this.#text + this.#added.map(operationText).join("");
  }

  /** Adds the operation of a request. If it was already added, extends its roles and its limits.
   * Throws the errors of `parseHead`. */
  add({ raw, ...request }: RecordedRequest, snapshot: Snapshot): void {
    const { line, form } = sentOperation(raw, request, snapshot);
    const isData = form.action.kind !== "root" && form.action.kind !== "options";
    if (!isData || !isWritable(line, form, snapshot)) return;
    const { role, payload } = request;
    const similar = [...this.#written, ...this.#added].filter(({ path }) => path === line.path);
    const sameForm = (indexOperations(similar, snapshot).get(form.key) ?? []).filter(
      ({ line: { body } }) => payload === null || allowsBody(body, payload),
    );
    if (sameForm.some((rule) => rule.line.roles.includes(role) && allows(rule, form))) return;
    const addedRule = sameForm.find((rule) => this.#added.includes(rule.line));
    this.#added = addedRule === undefined
      ? [...this.#added, { ...line, name: this.#nameOf(line) }]
      : this.#added.map((each) => each === addedRule.line ? extended(addedRule, form, role) : each);
    this.#onChange(this.text);
  }

  /** Returns a name such as `orders_by_id`, with a number if it is taken. */
  #nameOf({ method, path, query }: OperationLine): string {
    const isCall = path.startsWith("/rpc/");
    const filters = splitQuery(query).filter(({ value }) => !isCall && isFilter(value ?? ""));
    const target = decodeURIComponent(path.replace(/^\/(?:rpc\/)?/, ""));
    const by = filters.length === 0 ? "" : `_by_${filters.map(({ name }) => name).join("_and_")}`;
    const verb = isCall || method === "GET" ? "" : `${method.toLowerCase()}_`;
    const name = `${verb}${target}${by}`;
    const base = name.replaceAll(/\W+/g, "_").replace(/^(?![A-Za-z_])/, "_").slice(0, 60);
    return freeName(base, [...this.#written, ...this.#added].map((each) => each.name));
  }
}

/** Returns whether the file can represent an operation: its line has the form and the body of the request. */
function isWritable(line: OperationLine, form: Form, snapshot: Snapshot): boolean {
  const text = operationText(line);
  try {
    const [read] = parseOperations(text);
    return operationText(read!) === text && ruleOf(read!, snapshot).form.key === form.key;
  } catch {
    return false;
  }
}

/** Returns an operation with another role, and the limits of another form. */
function extended({ line, form }: OperationRule, { rows }: Form, role: string): OperationLine {
  const higher = Array.from(rows, ([name, count]): [string, bigint] => {
    const previous = form.rows.get(name) ?? 0n;
    return [name, previous > count ? previous : count];
  });
  const query = withRows(line.query, new Map([...form.rows, ...higher]));
  return { ...line, roles: [...new Set([...line.roles, role])], query };
}

/** Permits all requests, and records successful ones. */
export class RecordingGuard implements RequestGuard {
  readonly #snapshot: Snapshot;
  readonly #recorder: OperationRecorder;
  readonly #pending = new WeakMap<Exchange, Map<RawRequest, Payload | null>>();

  constructor(snapshot: Snapshot, recorder: OperationRecorder) {
    this.#snapshot = snapshot;
    this.#recorder = recorder;
  }

  check(exchange: Exchange, { raw, payload }: GuardedRequest): "text" | "keys" {
    const pending = this.#pending.get(exchange) ?? new Map();
    this.#pending.set(exchange, pending.set(raw, payload));
    return "text";
  }

  succeeded(exchange: Exchange): void {
    const role = exchange.role ?? "";
    for (const [raw, payload] of this.#pending.get(exchange) ?? []) {
      this.#recorder.add({ raw, role, payload }, this.#snapshot);
    }
  }
}

/** Records the operations of requests that succeed. @module */
import type { Exchange } from "../../api/handler/exchange.ts";
import type { GuardedRequest, RequestGuard } from "../../api/handler/exchange.ts";
import type { Payload } from "../../api/request/body/body_decoder.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { bodyDifference, bodyText } from "./body_pattern.ts";
import type { FormContext } from "./form.ts";
import { masked, type MaskedRequest, type UnnamedOperation } from "./mask.ts";
import { allows, ruleOf } from "./matcher.ts";
import { type OperationLine, operationText, parseOperations } from "./operation_file.ts";

/** Collects operations that a file lacks. */
export class OperationRecorder {
  readonly #text: string;
  readonly #written: readonly OperationLine[];
  readonly #added: OperationLine[] = [];
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

  /** Adds the operation of a request, or its role and limits to an operation that was added. */
  add(
    { operation, form, request: { action } }: MaskedRequest,
    { role, payload, snapshot }: {
      readonly role: string;
      readonly payload: Payload | null;
      readonly snapshot: Snapshot;
    },
  ): void {
    if (action.kind === "root" || action.kind === "options") return;
    const isSame = (other: OperationLine) => {
      const rule = ruleOf(other, snapshot.config, contextOf(snapshot));
      return rule.form.key === form.key &&
        (payload === null || bodyDifference(other.body, payload) === null) && rule;
    };
    const covers = (other: OperationLine) => {
      const rule = other.roles.includes(role) && isSame(other);
      return rule !== false && allows(rule, form);
    };
    if ([...this.#written, ...this.#added].some(covers)) return;
    const at = this.#added.findIndex((other) => isSame(other) !== false);
    const known = this.#added[at];
    if (known === undefined) {
      this.#added.push({
        ...operation,
        name: this.#nameOf(operation),
        roles: [role],
        line: 0,
        column: 0,
      });
    } else {
      const roles = known.roles.includes(role) ? known.roles : [...known.roles, role];
      this.#added[at] = { ...known, roles, query: withHigherBounds(known.query, operation.query) };
    }
    this.#onChange(this.text);
  }

  /** `orders_by_id`; a number follows on a name that is taken. */
  #nameOf({ method, path, query }: UnnamedOperation): string {
    const verbs: Readonly<Record<string, string>> = {
      POST: "add_",
      PATCH: "change_",
      PUT: "put_",
      DELETE: "delete_",
    };
    const isCall = path.startsWith("/rpc/");
    const filters = query.split("&").flatMap((param) => {
      const [, name = ""] = /^([\w.]+)=(?:not\.)?[a-z]+[.(]/.exec(param) ?? [];
      return name === "" || notFilters.test(name) ? [] : [name];
    });
    const by = filters.length === 0 || isCall ? "" : `_by_${filters.join("_and_")}`;
    const target = decodeURIComponent(path.replace("/rpc/", "/").slice(1));
    const name = `${isCall ? "" : verbs[method] ?? ""}${target}${by}`.replaceAll(/\W+/g, "_").slice(
      0,
      60,
    );
    const base = /^[A-Za-z_]/.test(name) ? name : `_${name}`;
    const taken = new Set([...this.#written, ...this.#added].map((each) => each.name));
    let free = base;
    for (let number = 2; taken.has(free); number++) free = `${base}_${number}`;
    return free;
  }
}

const notFilters = /(?:^|\.)(?:select|order|columns|distinct|on_conflict)$/;

/** Returns a query with the bounds of another one of the same form where they are higher. */
function withHigherBounds(query: string, other: string): string {
  const bound = /((?:^|(?<=[&.]))(?:limit|offset))=\.\.(\d+)/g;
  const nameOf = (param: string) => param.slice(0, param.indexOf("="));
  const others = new Map(other.split("&").map((param) => [nameOf(param), param]));
  const params = query === "" ? [] : query.split("&");
  const raised = params.map((param) => {
    const [mine, theirs] = [param, others.get(nameOf(param)) ?? ""].map((text) =>
      Array.from(text.matchAll(bound), ([, , digits]) => BigInt(digits!))[0]
    );
    return mine !== undefined && theirs !== undefined && theirs > mine
      ? others.get(nameOf(param))!
      : param;
  });
  const missing = [...others].flatMap(([name, param]) =>
    /(?:^|\.)offset$/.test(name) && !params.some((each) => nameOf(each) === name) ? [param] : []
  );
  return [...raised, ...missing].join("&");
}

function contextOf({ cache, config }: Snapshot): FormContext {
  return { cache: cache!, dbPlanEnabled: config.dbPlanEnabled };
}

/** Lets all requests pass, and records those that succeed. */
export class RecordingGuard implements RequestGuard {
  readonly #snapshot: Snapshot;
  readonly #recorder: OperationRecorder;
  readonly #pending = new WeakMap<Exchange, Map<RawRequest, Payload | null>>();

  constructor(snapshot: Snapshot, recorder: OperationRecorder) {
    this.#snapshot = snapshot;
    this.#recorder = recorder;
  }

  check(exchange: Exchange, { pieces, payload }: GuardedRequest): "text" | "keys" {
    const pending = this.#pending.get(exchange) ?? new Map();
    this.#pending.set(exchange, pending.set(pieces, payload));
    return "text";
  }

  succeeded(exchange: Exchange): void {
    const snapshot = this.#snapshot;
    for (const [pieces, payload] of this.#pending.get(exchange) ?? []) {
      const found = verified(pieces, payload, snapshot);
      const role = exchange.role ?? "";
      if (found !== null) this.#recorder.add(found, { role, payload, snapshot });
    }
  }
}

/** Returns the operation of a request; null if a line of the file cannot have its form. */
export function verified(
  pieces: RawRequest,
  payload: Payload | null,
  snapshot: Snapshot,
): MaskedRequest | null {
  const { config } = snapshot;
  const found = masked(pieces, payload, { ...contextOf(snapshot), config });
  const named = { ...found.operation, name: "x", roles: ["x"], line: 0, column: 0 };
  const [read] = parseOperations(operationText(named));
  const { key } = ruleOf(read!, config, contextOf(snapshot)).form;
  const isSameBody = (read!.body && bodyText(read!.body)) === (named.body && bodyText(named.body));
  return key === found.form.key && isSameBody ? found : null;
}

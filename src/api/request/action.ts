/** Chooses the action of a request by its path and method. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { RawRequest } from "./raw_request.ts";
import { percentDecode } from "../../base/http/percent.ts";

/** The action of a request, chosen by path and method. */
export type Action =
  | { readonly kind: "read"; readonly relation: string; readonly headersOnly: boolean }
  | { readonly kind: "insert"; readonly relation: string }
  | { readonly kind: "update"; readonly relation: string }
  | { readonly kind: "put"; readonly relation: string }
  | { readonly kind: "delete"; readonly relation: string }
  | {
    readonly kind: "call";
    readonly routine: string;
    /** The method. Like POST, QUERY has arguments in the body, but it can only read. */
    readonly method: "GET" | "HEAD" | "POST" | "QUERY";
  }
  | { readonly kind: "root"; readonly headersOnly: boolean }
  | { readonly kind: "options"; readonly target: Resource };

/** Target that a path names. */
export type Resource =
  | { readonly kind: "relation"; readonly relation: string }
  | { readonly kind: "routine"; readonly routine: string }
  | { readonly kind: "root" };

export interface ActionConfig {
  /** The function that answers `/`; null if the generated description does. */
  readonly dbRootSpec: { readonly name: string } | null;
  readonly openapiMode: "follow-privileges" | "ignore-privileges" | "disabled";
}

/** Parses a raw path. Throws `125` for a path without target, and `126` for a description that is disabled. */
export function readPath(path: string, config: ActionConfig): Resource {
  const [first = "", second, ...more] = path.slice(1).split("/").map(decodeName);
  if (more.length > 0 || !path.startsWith("/")) throw errors.invalidPath();
  if (second === undefined) {
    return first === "" ? rootResource(config) : { kind: "relation", relation: first };
  }
  if (first !== "rpc") throw errors.invalidPath();
  return { kind: "routine", routine: second };
}

function rootResource({ dbRootSpec, openapiMode }: ActionConfig): Resource {
  if (openapiMode === "disabled") throw errors.rootDisabled();
  return dbRootSpec === null ? { kind: "root" } : { kind: "routine", routine: dbRootSpec.name };
}

function decodeName(raw: string): string {
  const name = percentDecode(raw, "reject");
  // Names in PostgreSQL cannot contain NUL.
  if (name === null || name.includes("\0")) throw errors.invalidPath();
  return name;
}

/** The method, and for a query request also its method as received. */
type MethodUse = Pick<RawRequest, "method" | "received">;

/** Returns the action. Throws `101` or `117` if the resource does not support the method. Methods
 * are case-sensitive. */
export function chooseAction(resource: Resource, { method, received }: MethodUse): Action {
  if (method === "OPTIONS") return { kind: "options", target: resource };
  switch (resource.kind) {
    case "relation":
      return relationAction(resource.relation, method);
    case "routine":
      return callAction(resource.routine, { method, received });
    case "root":
      return rootAction(method);
    default:
      return resource satisfies never;
  }
}

const writes: ReadonlyMap<string, "insert" | "update" | "put" | "delete"> = new Map([
  ["POST", "insert"],
  ["PATCH", "update"],
  ["PUT", "put"],
  ["DELETE", "delete"],
]);

function relationAction(relation: string, method: string): Action {
  if (method === "GET" || method === "HEAD") {
    return { kind: "read", relation, headersOnly: method === "HEAD" };
  }
  const kind = writes.get(method);
  if (kind === undefined) throw errors.unsupportedMethod(method);
  return { kind, relation };
}

function callAction(routine: string, { method, received }: MethodUse): Action {
  if (method === "GET" || method === "HEAD" || method === "POST") {
    return { kind: "call", routine, method };
  }
  if (method !== "QUERY" || received === undefined) throw errors.methodOnFunction(method);
  return { kind: "call", routine, method };
}

function rootAction(method: string): Action {
  if (method !== "GET" && method !== "HEAD") throw errors.unsupportedMethod(method);
  return { kind: "root", headersOnly: method === "HEAD" };
}

/// <reference lib="dom" />
/** Data that all pages share: schema, state of the service, and access of the role. @module */
import { computed, signal } from "@preact/signals";
import type {
  ConsoleFunction,
  ConsoleRelation,
  ConsoleRelationship,
  ConsoleSchema,
} from "../server/console_schema.ts";
import type { ConsoleState } from "../server/console_state.ts";
import { AdminTokenNeeded, type ApiError, callApi, errorOf, readConsole } from "./api.ts";
import type { ApiCall } from "./code.ts";
import { route } from "./route.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

export const schema = signal<ConsoleSchema | null>(null);
export const serviceState = signal<ConsoleState | null>(null);

export const needsAdminToken = signal(false);

/** Reason why the admin server is unreachable; otherwise null. */
export const connectionError = signal<string | null>(null);

/** The methods that the role may use in a schema; null until they are known. */
export interface Access {
  readonly schema: string;
  /** Methods by path in the OpenAPI document; null if the document ignores privileges. */
  readonly methods: ReadonlyMap<string, ReadonlySet<string>> | null;
  /** Reason why the API refuses the role; otherwise null. */
  readonly error: ApiError | null;
}

export const access = signal<Access | null>(null);

/** Schema that the lists show. */
export const schemaName = computed(() =>
  route.value.schema || (serviceState.value?.api.schemas[0] ?? "public")
);

export async function loadModel(): Promise<void> {
  await guarded(async () => {
    const [state, read] = await Promise.all([
      readConsole<ConsoleState>("state"),
      readConsole<ConsoleSchema>("schema"),
    ]);
    serviceState.value = state;
    schema.value = read;
  });
}

/** Loads the state. Also loads the schema if its cache was reloaded. */
export async function refreshState(): Promise<void> {
  await guarded(async () => {
    const previous = serviceState.value?.schemaCache?.loadedAt;
    serviceState.value = await readConsole<ConsoleState>("state");
    if (serviceState.value.schemaCache?.loadedAt !== previous) {
      schema.value = await readConsole<ConsoleSchema>("schema");
      await loadAccess(schemaName.value);
    }
  });
}

/** Runs a request to the admin server, and shows its failure in the frame. */
export async function guarded(run: () => Promise<void>): Promise<void> {
  try {
    await run();
    connectionError.value = null;
    needsAdminToken.value = false;
  } catch (error) {
    if (error instanceof AdminTokenNeeded) needsAdminToken.value = true;
    else connectionError.value = errorMessage(error);
  }
}

let accessLoads = 0;

/** Loads what the role may do, from its OpenAPI document. */
export async function loadAccess(name: string): Promise<void> {
  const load = ++accessLoads;
  await guarded(async () => {
    const answer = await callApi(documentCall(name, "3.1"));
    if (load !== accessLoads) return;
    const error = errorOf(answer);
    const isFollowed = serviceState.value?.features.openapiMode === "follow-privileges";
    const document = error === null ? JSON.parse(answer.text ?? "{}") : {};
    access.value = {
      schema: name,
      methods: isFollowed && error === null ? methodsOf(document.paths ?? {}) : null,
      // Errors with other statuses are ignored: they mean that the service has no document.
      error: error?.status === 401 || error?.status === 403 ? error : null,
    };
  });
}

function methodsOf(
  paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    Object.entries(paths).map(([path, item]) =>
      [decodeURIComponent(path), new Set(Object.keys(item))] as const
    ),
  );
}

/** Returns whether the role may use a method on a path, according to the OpenAPI document. */
export function may(method: "get" | "post" | "patch" | "delete", path: string): boolean {
  const isWrite = method !== "get" && !path.startsWith("/rpc/");
  if (isWrite && serviceState.value?.features.readOnly) return false;
  const current = access.value;
  const methods = current?.schema === schemaName.value ? current.methods : null;
  return methods === null ? true : methods.get(path)?.has(method) ?? false;
}

/** Returns whether the role may insert, change or delete rows of a relation. */
export function verbsOf(relation: ConsoleRelation) {
  const path = `/${relation.name}`;
  const hasKey = relation.primaryKey.length > 0;
  return {
    insert: relation.insertable && may("post", path),
    update: hasKey && relation.updatable && may("patch", path),
    delete: hasKey && relation.deletable && may("delete", path),
  };
}

export function relationsOf(name: string): readonly ConsoleRelation[] {
  return (schema.value?.relations ?? []).filter((each) => each.schema === name)
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

export function functionsOf(name: string): readonly ConsoleFunction[] {
  return (schema.value?.functions ?? []).filter((each) => each.schema === name)
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

export function relationOf(schemaName: string, name: string): ConsoleRelation | null {
  return schema.value?.relations
    .find((each) => each.schema === schemaName && each.name === name) ?? null;
}

/** Returns the relationships from a relation to relations of the same schema. */
export function relationshipsOf(
  { schema: schemaName, name }: ConsoleRelation,
): readonly ConsoleRelationship[] {
  return (schema.value?.relationships ?? []).filter(({ origin, foreign }) =>
    origin[0] === schemaName && origin[1] === name && foreign[0] === schemaName
  );
}

/** Returns the header that selects a schema; an empty list for the default schema. */
export function profileHeader(name: string, method: string): ApiCall["headers"] {
  const schemas = serviceState.value?.api.schemas ?? [];
  if (schemas.length < 2 || schemas[0] === name) return [];
  const isRead = method === "GET" || method === "HEAD";
  return [[isRead ? "Accept-Profile" : "Content-Profile", name]];
}

/** Returns a request for the rows of a relation, or for the OpenAPI document if the name is empty. */
export function readCall(
  { schema, name }: Pick<ConsoleRelation, "schema" | "name">,
  query: string,
  { method = "GET", headers = [] }: Partial<Pick<ApiCall, "method" | "headers">> = {},
): ApiCall {
  return {
    method,
    path: encodeURIComponent(name),
    query,
    headers: [...headers, ...profileHeader(schema, method)],
    body: null,
  };
}

/** Returns the request for the OpenAPI document of a schema. */
export function documentCall(schema: string, version: "2.0" | "3.1"): ApiCall {
  const headers = [["Accept", `application/openapi+json;version=${version}`]] as const;
  return readCall({ schema, name: "" }, "", { headers });
}

/** Relations and functions that tools may use, by the role of a message and the configuration. @module */
import type { McpConfig } from "./mcp_options.ts";
import {
  permittedRoutines,
  privilegesByName,
  type RelationMethod,
  relationMethods,
  typeShortener,
} from "../../api/response/openapi/model.ts";
import type { SchemaMetadata } from "../../api/query/schema_metadata.ts";
import type {
  QualifiedName,
  Relation,
  Routine,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import type { Session } from "./session.ts";

/** The part of a schema that a role may use. */
export class RoleView {
  readonly schema: string;
  readonly #cache: SchemaCache;
  readonly #privileges: ReturnType<typeof privilegesByName>;
  readonly #isPermitted: (routine: Routine) => boolean;

  constructor(schema: string, metadata: SchemaMetadata, cache: SchemaCache) {
    this.schema = schema;
    this.#cache = cache;
    this.#privileges = privilegesByName(metadata.privileges ?? []);
    this.#isPermitted = permittedRoutines(metadata, typeShortener(metadata.visibleTypes ?? []));
  }

  /** Returns the methods on a relation; empty if the role may not use it. */
  methods(relation: Relation): readonly RelationMethod[] {
    const privileges = this.#privileges.get(relation.name);
    return privileges === undefined ? [] : relationMethods(relation, privileges);
  }

  /** Relations with at least one method, sorted by name. */
  get relations(): readonly Relation[] {
    const { schema } = this;
    return this.#cache.relationNames(schema)
      .map((name) => this.#cache.relation({ schema, name })!)
      .filter((relation) => this.methods(relation).length > 0);
  }

  /** The overload with the most parameters of each function, sorted by name. */
  get routines(): readonly Routine[] {
    return this.#cache.routineNames(this.schema).flatMap((name) => this.overloads(name).slice(-1));
  }

  /** Returns the overloads of a function that the role may execute. */
  overloads(name: string): readonly Routine[] {
    return this.#cache.routines({ schema: this.schema, name }).filter(this.#isPermitted);
  }
}

/** Reads what the role may use in a schema; null if there is no schema cache. Throws `ApiFailure`. */
export async function roleView(
  schema: string,
  session: Session,
): Promise<RoleView> {
  const metadata = await session.metadata(schema);
  return new RoleView(schema, metadata, session.cache!);
}

/** Returns whether `mcp-write` lists a relation or function, as `*`, `name` or `schema.name`. */
export function mayWrite(
  { schema, name }: QualifiedName,
  { mcpWrite, dbSchemas }: Pick<McpConfig, "dbSchemas" | "mcpWrite">,
): boolean {
  if (mcpWrite === null) return false;
  return mcpWrite.some((item) =>
    item === "*" || item === `${schema}.${name}` || item === name && schema === dbSchemas[0]
  );
}

/** A function with a separate tool. */
export interface ToolFunction extends QualifiedName {
  readonly tool: string;
}

/** Returns the functions of `mcp-functions`. An unqualified name belongs to the first schema. */
export function toolFunctions(
  { mcpFunctions, dbSchemas }: Pick<McpConfig, "dbSchemas" | "mcpFunctions">,
): readonly ToolFunction[] {
  return (mcpFunctions ?? []).map((item) => {
    const [first = ""] = dbSchemas;
    const schema = dbSchemas.find((each) => item.startsWith(`${each}.`)) ?? null;
    const name = schema === null ? item : item.slice(schema.length + 1);
    const isFirst = schema === null || schema === first;
    return { schema: schema ?? first, name, tool: `rpc.${isFirst ? name : item}` };
  });
}

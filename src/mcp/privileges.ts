/** The relations and functions that the role of a message may use. @module */
import {
  permittedRoutines,
  privilegesByName,
  type RelationMethod,
  relationMethods,
  typeShortener,
} from "../response/openapi/model.ts";
import type { SchemaMetadata } from "../query/schema_metadata.ts";
import type { Relation, Routine, SchemaCache } from "../schema_cache/schema_cache.ts";
import type { MessageFacts, Session } from "./session.ts";

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

  /** Returns the methods on a relation; none for one that the role may not use. */
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

/** Reads what the role may use in a schema; null without a schema cache. Throws `ApiFailure`. */
export async function roleView(
  schema: string,
  session: Session,
  facts: MessageFacts,
): Promise<RoleView> {
  const metadata = await session.metadata(schema, facts);
  return new RoleView(schema, metadata, session.cache!);
}

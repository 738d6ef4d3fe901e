/** Chooses the schema that a database's API most likely has. @module */

/** A schema, and the number of its objects that do not belong to extensions. */
export interface SchemaSize {
  readonly name: string;
  readonly relations: number;
  readonly functions: number;
}

/** Returns the schemas that contain a relation or a function. */
export function filledSchemas<Schema extends SchemaSize>(
  schemas: readonly Schema[],
): readonly Schema[] {
  return schemas.filter(({ relations, functions }) => relations + functions > 0);
}

/** Returns `api` if it is not empty, otherwise the schema with the most relations; null if all
 * schemas are empty. Of equal schemas, `public` is returned, or else the first. */
export function likelySchema(schemas: readonly SchemaSize[]): string | null {
  const filled = filledSchemas(schemas);
  if (filled.some(({ name }) => name === "api")) return "api";
  const [most] = filled.toSorted((one, other) =>
    other.relations - one.relations || other.functions - one.functions ||
    Number(other.name === "public") - Number(one.name === "public")
  );
  return most?.name ?? null;
}

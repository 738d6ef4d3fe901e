/** Names of types in the catalogue, and as `format_type` prints them. @module */

const printedTypes: ReadonlyMap<string, string> = new Map([
  ["bool", "boolean"],
  ["int", "integer"],
  ["int2", "smallint"],
  ["int4", "integer"],
  ["int8", "bigint"],
  ["float4", "real"],
  ["float8", "double precision"],
  ["decimal", "numeric"],
  ["numeric", "numeric"],
  ["varchar", "character varying"],
  ["bpchar", "character"],
  ["time", "time without time zone"],
  ["timetz", "time with time zone"],
  ["timestamp", "timestamp without time zone"],
  ["timestamptz", "timestamp with time zone"],
]);

/** The last name of a type is the one in the catalogue. */
const catalogueTypes = new Map(Array.from(printedTypes, ([name, printed]) => [printed, name]));

/** Returns the type as `format_type` prints it without modifier: the type of a column, or of a
 * cast. */
export function printedType(type: string): string {
  const plain = type.replace(/\([\w, ]*\)$/, "");
  return printedTypes.get(plain) ?? plain;
}

/** Returns the name in the catalogue of a type as `format_type` prints it. */
export function catalogueType(printed: string): string {
  return catalogueTypes.get(printed) ?? printed;
}

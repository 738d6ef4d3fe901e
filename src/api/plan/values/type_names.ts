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

/** Names of types in the catalogue, by printed name. If several names fit, the last one is used. */
const catalogueTypes = new Map(Array.from(printedTypes, ([name, printed]) => [printed, name]));

/** Returns the type of a column or cast in the form of `format_type`, without modifier. */
export function printedType(type: string): string {
  const plain = type.replace(/\([\w, ]*\)$/, "");
  return printedTypes.get(plain) ?? plain;
}

/** Returns the catalogue name of a type in the form of `format_type`. */
export function catalogueType(printed: string): string {
  return catalogueTypes.get(printed) ?? printed;
}

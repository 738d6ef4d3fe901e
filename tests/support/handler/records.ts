/** Reads records of texts. @module */

/** A record: its label, and the lines of its fields. */
export interface TextRecord {
  readonly label: string;
  /** Returns the lines of a field that is repeated, or none. */
  all(field: string): readonly string[];
  /** Returns the lines of a field as one text. Default: undefined. */
  one(field: string): string | undefined;
}

/**
 * Reads records of a text: `# label`, then lines of `field: value`. A field of several lines is
 * repeated, and a line that begins with `+` continues the one before.
 */
export function records(
  strings: TemplateStringsArray,
  ...values: readonly string[]
): readonly TextRecord[] {
  const text = String.raw(strings, ...values).trim().replaceAll(/\n\s*\+/g, "");
  return text.split(/(?:^|\n)\s*# /).slice(1).map((record) => {
    const [label = "", ...lines] = record.split("\n").map((line) => line.trim());
    const all = (field: string) =>
      lines.filter((line) => line.startsWith(`${field}: `))
        .map((line) => line.slice(field.length + 2));
    const one = (field: string) => all(field).length === 0 ? undefined : all(field).join("\n");
    return { label, all, one };
  });
}

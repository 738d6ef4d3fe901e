/** JSON whose numbers keep their texts: JavaScript writes 51.20 as 51.2. @module */

/** Functions of "JSON.parse source text access", which TypeScript does not know. */
const json = JSON as typeof JSON & {
  readonly rawJSON?: (text: string) => { readonly rawJSON: string };
  readonly isRawJSON?: (value: unknown) => value is { readonly rawJSON: string };
};

/** Parses JSON. A number that JavaScript would write differently keeps its text, also for `JSON.stringify`. */
export function parseJson(text: string): unknown {
  const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return json.rawJSON?.(source) ?? source;
  };
  return JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown);
}

/** Returns whether a value is a number of `JSON.rawJSON`, which is printed with its original digits. */
export function isRawJson(value: unknown): value is { readonly rawJSON: string } {
  return json.isRawJSON?.(value) ?? false;
}

/** Returns JSON with line breaks. */
export function prettyJson(text: string): string {
  return JSON.stringify(parseJson(text), null, 2);
}

/** Writes parts of TypeScript types. @module */

/** Returns a member name, quoted unless it is an identifier. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : textType(name);
}

/** Returns the literal type of a text. Line separators are escaped, which JSON does not do. */
export function textType(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** Returns a union type; `never` for an empty list. */
export function union(types: readonly string[]): string {
  return types.length === 0 ? "never" : types.join(" | ");
}

export function arrayType(element: string): string {
  return /[ {]/.test(element) ? `(${element})[]` : `${element}[]`;
}

export interface TypeMember {
  readonly name: string;
  readonly type: string;
  readonly optional?: boolean;
  /** Text of the doc comment, or null. */
  readonly comment?: string | null;
}

/** Returns an object type; `emptyType` when it has no members. */
export function objectType(
  members: readonly TypeMember[],
  emptyType = "Record<never, never>",
): string {
  if (members.length === 0) return emptyType;
  return `{\n${indent(members.map(memberText).join("\n"))}\n}`;
}

function memberText({ name, type, optional = false, comment = null }: TypeMember): string {
  return `${docComment(comment)}${memberName(name)}${optional ? "?" : ""}: ${type};`;
}

/** Returns a doc comment. Text from the database cannot end the comment. */
function docComment(comment: string | null): string {
  if (comment === null) return "";
  const lines = comment.replaceAll("*/", "*\\/").split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

function indent(text: string): string {
  return text.split("\n").map((line) => line === "" ? "" : `  ${line}`).join("\n");
}

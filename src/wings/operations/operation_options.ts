/** Options for permitted requests. @module */
import type { Config, OptionValues } from "../../state/config/options.ts";
import { accept, type Codec, list, quote, reject } from "../../state/config/codecs.ts";
import { option } from "../../state/config/options/option.ts";
import { readNamedFile } from "../../state/config/secret.ts";
import { errorMessage } from "../../base/errors/error_message.ts";
import { parseOperations } from "./operation_file.ts";

/** The text of a file of operations. */
export interface OperationsText {
  /** Null if the value is the text itself. */
  readonly path: string | null;
  readonly text: string;
}

const format = { expected: "the path of a file with operations in quotes" };

/** Codec of a path. A text that contains a request is the content of the file, for programs without files. */
const operationsFile: Codec<OperationsText> = {
  type: "path",
  read(raw, { readFile }) {
    if (typeof raw !== "string") return reject(raw, format);
    const isText = /\s[A-Z]+[ \t]+\//.test(raw);
    const content = isText ? accept(new TextEncoder().encode(raw)) : readNamedFile(raw, readFile);
    if (content.kind !== "value") return content;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(content.value);
    try {
      parseOperations(text);
    } catch (error) {
      return { kind: "problem", problem: `${isText ? "" : `${raw}:`}${errorMessage(error)}` };
    }
    return accept({ path: isText ? null : raw, text });
  },
  print: ({ path, text }) => quote(path ?? text),
};

export const operationOptions = {
  "operations": option({
    codec: operationsFile,
    default: null,
    doc: "File with the requests that clients may send; see " +
      "[Permit known requests only](../how-to/permit-known-requests.md).",
    example: '"api.operations"',
    inDatabase: false,
  }),
  "operations-roles": option({
    codec: list({ expected: "roles in quotes" }),
    default: null,
    doc: "Roles that `operations` binds; if it is not set, all roles of requests.",
    example: '"web_anon, shop_customer"',
    inDatabase: false,
  }),
} as const;

/** The configuration with the options of this wing. */
export type OperationsConfig = Config & OptionValues<typeof operationOptions>;

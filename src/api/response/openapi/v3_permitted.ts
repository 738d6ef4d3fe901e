/** The paths of an OpenAPI 3.1 document if the server only permits listed requests. @module */
import type { DescribedOperation } from "./described_operation.ts";
import { errorResponse } from "./v3_operations.ts";

/** Returns path and operation of each request. The query string is part of the path, with
 * placeholders for clients to fill, because several operations on a relation differ only by it. */
export function permittedPaths(
  operations: readonly DescribedOperation[],
): readonly (readonly [path: string, item: unknown])[] {
  const paths = new Map<string, Record<string, unknown>>();
  for (const operation of operations) {
    const path = operation.path + (operation.template === "" ? "" : `?${operation.template}`);
    const item = paths.get(path) ?? {};
    const method = operation.method.toLowerCase();
    // Left out: QUERY, which OpenAPI 3.1 lacks, and a second operation of one method and path.
    if (method === "query" || method in item) continue;
    paths.set(path, { ...item, [method]: permittedOperation(operation) });
  }
  return [...paths];
}

function permittedOperation({ name, path, parameters, headers, body, result }: DescribedOperation) {
  const accept = headers["accept"]?.split(",")[0] ?? "application/json";
  const sent = Object.entries(headers).filter(([header]) =>
    !/^(?:accept|content-type)$/.test(header)
  );
  return {
    operationId: name,
    tags: [path.split("/").at(-1)!],
    parameters: [
      ...parameters.map(({ name, schema }) => ({ name, in: "path", required: true, schema })),
      ...sent.map(([header, value]) => ({
        name: header,
        in: "header",
        required: true,
        schema: { type: "string", enum: [value] },
      })),
    ],
    ...body === null ? {} : {
      requestBody: {
        required: true,
        content: { [headers["content-type"] ?? "application/json"]: { schema: body } },
      },
    },
    responses: {
      "2XX": {
        description: "Success",
        ...result === null ? {} : { content: { [accept]: { schema: result } } },
      },
      "default": errorResponse,
    },
  };
}

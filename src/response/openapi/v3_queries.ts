/** The paths of relations that read by parameters in a body, in an OpenAPI 3.1 document. OpenAPI
 * 3.1 has no operation for QUERY itself. @module */
import type { DescribedRelation } from "./model.ts";
import { reference } from "./names.ts";
import { type HeaderContext, readHeaders, shared } from "./v3_parameters.ts";
import { errorResponse, rowsReference } from "./v3_responses.ts";
import type { SchemaEntry } from "./v3_schemas.ts";

const text = { type: "string" } as const;

/** Schema of the parameters in a body. A dot keeps its key apart from those of relations. */
export const querySchema: SchemaEntry = ["query.body", {
  type: "object",
  description: "Parameters of GET: `select`, `order`, `limit` and the like, and filters by column",
  properties: {
    select: text,
    order: text,
    limit: text,
    offset: text,
    and: text,
    or: text,
  },
  additionalProperties: text,
}];

const reading = ["range", "rangeUnit", "preferRead"] as const;

/** Returns the path `/<relation>/$query`. */
export function queryPath({ relation: { name } }: DescribedRelation, context: HeaderContext) {
  const rows = rowsReference(name);
  return {
    post: {
      operationId: `readByQuery_${name}`,
      tags: [name],
      summary:
        "Reads as GET does, with the parameters in the body; QUERY to the relation is the same",
      // POST has no `If-None-Match`.
      parameters: [
        ...reading,
        ...readHeaders(context).filter((header) => header !== "ifNoneMatch"),
      ].map(shared),
      requestBody: {
        required: true,
        content: {
          "application/x-www-form-urlencoded": {
            schema: reference("components", "schemas", querySchema[0]),
          },
        },
      },
      responses: { "200": rows, "206": rows, "default": errorResponse },
    },
  };
}

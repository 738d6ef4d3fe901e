/** The schemas of a batch. They are the same JSON Schema in both versions of OpenAPI. @module */

const text = { type: "string" } as const;
const texts = { type: "object", additionalProperties: text } as const;

export const batchSchema = {
  type: "object",
  required: ["requests"],
  properties: {
    isolation: { type: "string", enum: ["read committed", "repeatable read", "serializable"] },
    requests: {
      type: "array",
      items: {
        type: "object",
        required: ["method", "url"],
        properties: {
          id: { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" },
          method: { type: "string", enum: ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"] },
          url: { ...text, example: "/relation?id=eq.1" },
          headers: texts,
          body: {},
          refs: texts,
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
} as const;

export const batchReplySchema = {
  type: "object",
  required: ["responses"],
  properties: {
    responses: {
      type: "array",
      items: {
        type: "object",
        required: ["id", "status", "headers"],
        properties: {
          id: text,
          status: { type: "integer" },
          headers: { type: "object" },
          body: {},
        },
      },
    },
  },
} as const;

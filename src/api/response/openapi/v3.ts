/** Writes an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html). @module */
import { addressOf, descriptions, documentationOf, type DocumentConfig, infoOf } from "./about.ts";
import { ObjectMembers } from "./document_store.ts";
import type { ApiModel } from "./model.ts";
import type { DescribedOperation } from "./described_operation.ts";
import { permittedPaths } from "./v3_permitted.ts";
import { pathSegment } from "../../../base/http/percent.ts";
import { batchReplySchema, batchSchema } from "./batch_schemas.ts";
import {
  errorResponse,
  notModified,
  relationPath,
  routinePath,
  rowsResponse,
  tagHeader,
} from "./v3_operations.ts";
import { filterParameters, shared, sharedParameters } from "./v3_parameters.ts";
import { errorReference, errorSchema, relationSchemas } from "./v3_schemas.ts";

/** Returns the document. Relations without a permitted method are left out. If `permitted` is not
 * null, only these requests are described. */
export function openApi3(
  whole: ApiModel,
  config: DocumentConfig,
  permitted: readonly DescribedOperation[] | null = null,
): ObjectMembers {
  const relations = permitted !== null
    ? []
    : whole.relations.filter(({ methods }) => methods.length > 0);
  const model = { ...whole, relations };
  const root = {
    openapi: "3.1.0",
    info: infoOf(model.comment, config),
    ...documentationOf(config),
    servers: [{ url: serverUrl(config) }],
    ...(config.openapiSecurityActive ? { security: securityOf(config) } : {}),
    paths: new ObjectMembers(() =>
      permitted === null ? pathsOf(model, config) : permittedPaths(permitted)
    ),
    components: componentsOf(model, config),
  };
  return new ObjectMembers(() => Object.entries(root));
}

function componentsOf(model: ApiModel, config: DocumentConfig): ObjectMembers {
  const { dialect: { vendor }, bookmarkHeader = null } = config;
  const isDefault = model.schema === config.dbSchemas[0];
  const components = {
    schemas: new ObjectMembers(function* () {
      yield errorSchema;
      for (const relation of model.relations) yield* relationSchemas(relation);
    }),
    parameters: new ObjectMembers(function* () {
      yield* sharedParameters({ schema: model.schema, isDefault, bookmarkHeader });
      for (const relation of model.relations) yield* filterParameters(relation);
    }),
    responses: new ObjectMembers(function* () {
      yield* Object.entries(sharedResponses);
      for (const relation of model.relations) {
        yield rowsResponse(relation, { vendor, bookmarkHeader });
      }
    }),
    headers: {
      ...sharedHeaders,
      ...(bookmarkHeader === null
        ? {}
        : { [bookmarkHeader]: { description: descriptions.newBookmark, schema: text } }),
    },
    ...(config.openapiSecurityActive ? { securitySchemes } : {}),
  };
  return new ObjectMembers(() => Object.entries(components));
}

function serverUrl(config: DocumentConfig): string {
  const { scheme, host, basePath } = addressOf(config);
  return `${scheme}://${host}${basePath.replace(/\/$/, "")}`;
}

function* pathsOf(
  { relations, routines, schema }: ApiModel,
  config: DocumentConfig,
): Generator<readonly [string, unknown]> {
  const { dbSchemas, dialect: { vendor }, bookmarkHeader = null } = config;
  const names = new Set(relations.map(({ relation }) => relation.name));
  const context = {
    vendor,
    schema,
    profiled: dbSchemas.length > 1,
    bookmarkHeader,
    isDescribed: (relation: string) => names.has(relation),
  };
  yield ["/", { ...rootPath, ...batchPath(vendor) }];
  for (const relation of relations) {
    yield [`/${pathSegment(relation.relation.name)}`, relationPath(relation, context)];
  }
  for (const routine of routines) {
    yield [`/rpc/${pathSegment(routine.name)}`, routinePath(routine, context)];
  }
}

const text = { type: "string" } as const;

const sharedResponses = {
  "unmodified.response": {
    description: "The client has the body: `If-None-Match` lists its `ETag`",
    headers: tagHeader,
  },
  "error.response": {
    description: "An error",
    content: { "application/json": { schema: errorReference } },
  },
} as const;

const sharedHeaders = {
  ETag: { description: "With etag-mode: version of the row, and hash of the body", schema: text },
  "Content-Range": {
    description: "First and last row, and their number where it was counted: `0-24/*`",
    schema: text,
  },
  Link: {
    description: "Other pages of a page by a cursor: `first`, `prev`, `next`, `last` (RFC 8288)",
    schema: text,
  },
} as const;

const rootPath = {
  get: {
    operationId: "openapi",
    tags: ["Introspection"],
    summary: "OpenAPI description (this document)",
    parameters: [shared("ifNoneMatch")],
    responses: {
      "304": notModified,
      "200": {
        description: "A description of the API",
        headers: tagHeader,
        content: { "application/openapi+json": { schema: { type: "object" } } },
      },
    },
  },
} as const;

function batchPath(vendor: string) {
  return {
    post: {
      operationId: "batch",
      tags: ["Batch"],
      summary: "Several operations in one transaction",
      description: "405, unless the server has `batch-max-operations`.",
      parameters: [shared("idempotencyKey")],
      requestBody: {
        required: true,
        content: { [`application/vnd.${vendor}.batch+json`]: { schema: batchSchema } },
      },
      responses: {
        "200": {
          description: "One response for each operation",
          content: { "application/json": { schema: batchReplySchema } },
        },
        "default": errorResponse,
      },
    },
  };
}

const securitySchemes = {
  JWT: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: descriptions.token },
} as const;

/** Returns the security requirement. A token is optional if anonymous requests have a role. */
function securityOf({ dbAnonRole }: DocumentConfig) {
  return dbAnonRole === null ? [{ JWT: [] }] : [{}, { JWT: [] }];
}

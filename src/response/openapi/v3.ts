/** Writes an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html). @module */
import { queryPath, querySchema, relationPath } from "./v3_relations.ts";
import { addressOf, descriptions, documentationOf, type DocumentConfig, infoOf } from "./about.ts";
import { ObjectMembers } from "./document_store.ts";
import type { ApiModel, DescribedRelation } from "./model.ts";
import { pathSegment } from "./names.ts";
import { batchReplySchema, batchSchema } from "./batch_schemas.ts";
import { filterParameters, shared, sharedParameters } from "./v3_parameters.ts";
import {
  bookmarkComponent,
  errorResponse,
  notModified,
  rowsResponse,
  sharedHeaders,
  sharedResponses,
  tagHeader,
} from "./v3_responses.ts";
import { routinePath } from "./v3_routines.ts";
import { errorSchema, relationSchemas } from "./v3_schemas.ts";

/** Returns the document. It omits relations without a method that the role may use. */
export function openApi3(whole: ApiModel, config: DocumentConfig): ObjectMembers {
  const relations = whole.relations.filter(({ methods }) => methods.length > 0);
  const model = { ...whole, relations };
  const root = {
    openapi: "3.1.0",
    info: infoOf(model.comment, config),
    ...documentationOf(config),
    servers: [{ url: serverUrl(config) }],
    ...(config.openapiSecurityActive ? { security: securityOf(config) } : {}),
    paths: new ObjectMembers(() => pathsOf(model, config)),
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
      if (config.serverQueryMethod) yield querySchema;
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
    headers: { ...sharedHeaders, ...bookmarkComponent(bookmarkHeader) },
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
  const headers = { profiled: dbSchemas.length > 1, bookmarkHeader };
  const names = new Set(relations.map(({ relation }) => relation.name));
  const isDescribed = (relation: string) => names.has(relation);
  yield ["/", { ...rootPath, ...batchPath(vendor) }];
  for (const relation of relations) {
    yield [`/${pathSegment(relation.relation.name)}`, relationPath(relation, headers)];
  }
  for (const relation of config.serverQueryMethod ? relations.filter(isReadable) : []) {
    yield [`/${pathSegment(relation.relation.name)}/$query`, queryPath(relation, headers)];
  }
  for (const routine of routines) {
    const context = { ...headers, vendor, schema, isDescribed };
    yield [`/rpc/${pathSegment(routine.name)}`, routinePath(routine, context)];
  }
}

function isReadable({ methods }: DescribedRelation): boolean {
  return methods.includes("get");
}

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

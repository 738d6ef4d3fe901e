/** Writes an OpenAPI 2.0 document
 * (https://github.com/OAI/OpenAPI-Specification/blob/main/versions/2.0.md). @module */
import { described, objectSchema, unlessEmpty } from "./names.ts";
import { pathSegment } from "../../../base/http/percent.ts";
import {
  batchPath,
  fixedParameters,
  headerParameters,
  relationParameters,
  relationPath,
  rootPath,
  routinePath,
  type V2Headers,
} from "./v2_paths.ts";
import {
  addressOf,
  descriptions,
  documentationOf,
  type DocumentConfig,
  hasTags,
  infoOf,
} from "./about.ts";
import { ObjectMembers } from "./document_store.ts";
import type { ApiModel, DescribedColumn, DescribedRelation } from "./model.ts";
import { defaultValue, typeSpec } from "./types.ts";

export function openApi2(model: ApiModel, config: DocumentConfig): ObjectMembers {
  const { scheme, host, basePath } = addressOf(config);
  const { dialect: { vendor } } = config;
  const headers = headersOf(config);
  const object = `application/vnd.${vendor}.object+json`;
  const produces = ["application/json", `${object};nulls=stripped`, object];
  const types = [...produces, "text/csv", "application/x-ndjson"];
  const batch = config.batchMaxOperations > 0 ? batchPath(vendor, headers) : {};
  const routineContext = { headers, produces, typeName: model.parameterType };
  const root = {
    swagger: "2.0",
    info: infoOf(model.comment, config),
    host,
    basePath,
    schemes: [scheme],
    consumes: types,
    produces: types,
    ...documentationOf(config),
    ...(config.openapiSecurityActive ? security : {}),
    paths: new ObjectMembers(function* () {
      yield ["/", { ...rootPath, ...batch }];
      for (const relation of model.relations) {
        yield [`/${pathSegment(relation.relation.name)}`, relationPath(relation, headers)];
      }
      for (const routine of model.routines) {
        yield [`/rpc/${pathSegment(routine.name)}`, routinePath(routine, routineContext)];
      }
    }),
    definitions: new ObjectMembers(function* () {
      for (const relation of model.relations) yield [relation.relation.name, definition(relation)];
    }),
    parameters: new ObjectMembers(function* () {
      yield* fixedParameters;
      yield* headerParameters(headers);
      for (const relation of model.relations) yield* relationParameters(relation);
    }),
  };
  return new ObjectMembers(() => Object.entries(root));
}

function headersOf(config: DocumentConfig): V2Headers {
  const isTagged = hasTags(config);
  return {
    bookmark: config.bookmarkHeader ?? null,
    idempotencyKey: config.idempotencyTable === null ? null : "Idempotency-Key",
    ifMatch: isTagged ? "If-Match" : null,
    ifNoneMatch: isTagged ? "If-None-Match" : null,
  };
}

const security = {
  securityDefinitions: {
    JWT: { type: "apiKey", in: "header", name: "Authorization", description: descriptions.token },
  },
  security: [{ JWT: [] }],
} as const;

/** Returns the schema of a relation. All NOT NULL columns are required, even if they have a default. */
function definition({ relation, columns }: DescribedRelation): unknown {
  return objectSchema(
    relation.comment,
    columns.map((column) => [column.column.name, property(column)]),
    columns.flatMap(({ column }) => column.nullable ? [] : [column.name]),
  );
}

function property({ column, description }: DescribedColumn): unknown {
  const fallback = defaultValue(column);
  return {
    ...typeSpec(column.baseType),
    ...described(description),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...unlessEmpty("enum", column.enumLabels),
    ...(column.maxLength === null ? {} : { maxLength: column.maxLength }),
  };
}

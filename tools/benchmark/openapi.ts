/**
 * Measures how long it takes to write the description of a thousand tables, in both versions.
 *
 * @module
 */
import { svcDialect } from "../../src/dialect.ts";
import type { DocumentConfig } from "../../src/response/openapi/about.ts";
import { buildModel } from "../../src/response/openapi/model.ts";
import { openApi2 } from "../../src/response/openapi/v2.ts";
import { openApi3 } from "../../src/response/openapi/v3.ts";
import { indexSchemaCache } from "../../src/schema_cache/lookups.ts";
import type { Column, Relation, SchemaCache } from "../../src/schema_cache/schema_cache.ts";

const config: DocumentConfig = {
  dialect: svcDialect,
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  etagMode: "off",
  idempotencyTable: null,
  serverQueryMethod: false,
  batchMaxOperations: 0,
  openapiServerProxyUri: null,
  openapiSecurityActive: false,
  serverHost: "*4",
  serverPort: 3000,
};

function column(index: number): Column {
  return {
    name: `column_${index}`,
    comment: null,
    nullable: true,
    declaredType: "integer",
    baseType: "integer",
    maxLength: null,
    default: null,
    generated: false,
    enumLabels: [],
  };
}

function table(index: number): Relation {
  return {
    schema: "api",
    name: `table_${index}`,
    comment: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    volatile: false,
    primaryKey: ["column_0"],
    columns: Array.from({ length: 12 }, (_, each) => column(each)),
  };
}

function thousandTables(): SchemaCache {
  return indexSchemaCache({
    relations: Array.from({ length: 1000 }, (_, index) => table(index)),
    relationships: [],
    routines: [],
    representations: [],
    mediaHandlers: [],
    volatileFunctions: [],
  });
}

const cache = thousandTables();
for (const write of [openApi2, openApi3]) {
  for (let run = 1; run <= 5; run++) {
    const began = performance.now();
    const document = write(buildModel("api", { comment: null }, cache), config);
    const { length } = new TextEncoder().encode(JSON.stringify(document));
    const milliseconds = Math.round(performance.now() - began);
    console.log(`${write.name}, run ${run}: ${milliseconds} ms, ${length} bytes`);
  }
}

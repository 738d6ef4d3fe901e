import { relationMethods } from "../../../../src/api/response/openapi/model.ts";
import { strictEqual } from "node:assert/strict";
import type { RelationPrivileges } from "../../../../src/api/query/schema_metadata.ts";
import type { Relation } from "../../../../src/state/schema_cache/schema_cache.ts";

const table: Relation = {
  schema: "api",
  name: "film",
  comment: null,
  isView: false,
  insertable: true,
  updatable: true,
  deletable: true,
  volatile: false,
  primaryKey: ["id"],
  columns: [],
};

const all: RelationPrivileges = ["film", true, true, true, true];

/** Label, changes of the relation, privileges, methods. */
const rows: readonly (readonly [
  string,
  Partial<Relation>,
  RelationPrivileges | undefined,
  string,
])[] = [
  ["no restriction", {}, undefined, "get,post,put,patch,delete"],
  ["all privileges", {}, all, "get,post,put,patch,delete"],
  ["SELECT", {}, ["film", true, false, false, false], "get"],
  ["INSERT", {}, ["film", false, true, false, false], "post"],
  ["UPDATE", {}, ["film", false, false, true, false], "patch"],
  ["DELETE", {}, ["film", false, false, false, true], "delete"],
  ["INSERT and UPDATE", {}, ["film", false, true, true, false], "post,put,patch"],
  ["TRUNCATE", {}, ["film", false, false, false, false], ""],
  ["no primary key", { primaryKey: [] }, all, "get,post,patch,delete"],
  ["a view that takes inserts", { updatable: false, deletable: false }, all, "get,post"],
  ["a view that takes updates", { insertable: false, deletable: false }, all, "get,patch"],
];

for (const [label, relation, privileges, methods] of rows) {
  Deno.test(`relationMethods() returns "${methods}" for ${label}`, () => {
    strictEqual(relationMethods({ ...table, ...relation }, privileges).join(), methods);
  });
}

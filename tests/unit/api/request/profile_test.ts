import { deepStrictEqual } from "node:assert/strict";
import { chooseSchema } from "../../../../src/api/request/profile.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

const accepting = ["GET", "HEAD", "OPTIONS", "TRACE"];
const writing = ["POST", "PATCH", "PUT", "DELETE"];
const both = { "accept-profile": "v1", "content-profile": "v2" };

Deno.test("chooseSchema takes the first schema unless a header names one", () => {
  for (const method of [...accepting, ...writing]) {
    deepStrictEqual(chooseSchema({ method, headers: {} }, { dbSchemas: ["v1"] }), {
      schema: "v1",
      schemaNegotiated: false,
    });
    deepStrictEqual(chooseSchema({ method, headers: {} }, { dbSchemas: ["v2", "v1"] }), {
      schema: "v2",
      schemaNegotiated: true,
    });
  }
});

Deno.test("chooseSchema reads the header of the method", () => {
  const schemas = { dbSchemas: ["v0", "v1", "v2"] };
  for (const method of accepting) {
    deepStrictEqual(chooseSchema({ method, headers: both }, schemas).schema, "v1");
  }
  for (const method of writing) {
    deepStrictEqual(chooseSchema({ method, headers: both }, schemas).schema, "v2");
  }
  const only = { method: "GET", headers: { "accept-profile": "v1" } };
  deepStrictEqual(chooseSchema(only, { dbSchemas: ["v1"] }), {
    schema: "v1",
    schemaNegotiated: true,
  });
});

Deno.test("chooseSchema refuses schemas that are not exposed", () => {
  for (const schema of ["unknown", "", "V1", "v1, v2"]) {
    const headers = { "accept-profile": schema };
    deepStrictEqual(
      refusalOf(() => chooseSchema({ method: "GET", headers }, { dbSchemas: ["v1", "v2"] })),
      {
        code: "106",
        status: 406,
        message: `Invalid schema: ${schema}`,
        hint: "Only the following schemas are exposed: v1, v2",
      },
    );
  }
});

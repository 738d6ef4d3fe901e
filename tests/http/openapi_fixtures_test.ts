import { readdirSync, readFileSync } from "node:fs";
import { serviceSuite } from "../support/handler/api.ts";
import { documentOf, validate } from "../support/handler/openapi.ts";

const root = new URL("../../", import.meta.url);

/** Every fixture that needs no extension, and every example with the schemas that it exposes. */
const fixtures: readonly string[] = [
  ...readdirSync(new URL("tests/fixtures", root)).filter((name) => name.endsWith(".sql"))
    .map((name) => `tests/fixtures/${name}`),
  ...["todos", "shop"].map((name) => `examples/${name}/${name}.sql`),
].filter((path) => !readFileSync(new URL(path, root), "utf8").includes("create extension"));

for (const fixture of fixtures) {
  const suite = serviceSuite(fixture, {
    dbSchemas: ["api"],
    dbAnonRole: fixture.startsWith("examples/") ? "web_anon" : "anon",
    openapiMode: "ignore-privileges",
  }, {
    title: `openapi of ${fixture}`,
    roles: [
      ...["anon", "writer", "clerk", "reader", "agent", "outsider", "web_anon"],
      ...["repeater", "hurried", "web_user"],
      ...["access_anon", "access_user", "access_owner", "access_parent"],
    ],
  });
  for (const version of ["2.0", "3.1"]) {
    suite.test(`OpenAPI ${version} of ${fixture} is valid`, async (api) => {
      const headers = { Accept: `application/openapi+json;version=${version}` };
      await validate(await documentOf(await api("GET /", { headers })));
    });
  }
}

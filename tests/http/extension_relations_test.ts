/** Relations of extensions, which belong to the API if a grant names a role. */
import { apiSuite } from "../support/handler/api.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

for (const dialect of ["svc", "pgrst"] as const) {
  const suite = apiSuite("extension_relations", { ...config, dialect });
  const code = dialect === "svc" ? "SVC205" : "PGRST205";
  suite.rows(`relations of extensions in ${dialect}`, [
    ["GET /own?select=id,places(name)", {}, 200, [{ id: 1, places: { name: "north" } }]],
    ["GET /places", {}, 200, [{ id: 1, name: "north" }]],
    ["GET /queries?select=id", {}, 200, []],
    ...["nodes", "shards", "made"].map((name) =>
      [`GET /${name}`, {}, 404, {
        code,
        details: null,
        hint: null,
        message: `Could not find the table 'api.${name}' in the schema cache`,
      }] as const
    ),
  ]);
}

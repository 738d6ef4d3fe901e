/** A Worker whose bundle contains the endpoint for agents. @module */
import { withMcp } from "../../src/wings/mcp/mcp.ts";
import { createHandler, type Handler } from "../../mod.ts";

interface Bindings {
  readonly DB_URI: string;
  readonly JWT_SECRET: string;
}

let api: Handler | null = null;

export default {
  fetch(request: Request, env: Bindings): Promise<Response> {
    api ??= withMcp(
      createHandler({
        dbUri: env.DB_URI,
        dbSchemas: ["api"],
        dbAnonRole: "anon",
        jwtSecret: env.JWT_SECRET,
        observe: (event) => {
          if (event.kind === "unexpected-error") console.error(event.error);
        },
      }),
      { mcpPath: "/mcp" },
    );
    return api(request);
  },
};

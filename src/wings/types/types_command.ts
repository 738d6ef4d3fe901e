/** `svc types`: prints the types of the database for TypeScript clients. @module */
import { type Command, flagsOf } from "../../api/command.ts";
import { print } from "../../base/observe/output.ts";

export const typesCommand: Command = {
  name: "types",
  doc: "Show the database's types for TypeScript clients, as --types does",
  example: "types svc.conf > database.ts",
  page: "docs/how-to/describe-the-api.md",
  flags: flagsOf({}),
  run: ({ config: args }, { withDatabase }) =>
    withDatabase(args, async (appState) => {
      const { databaseTypes, readTypeCatalogue } = await import("./database_types.ts");
      const config = await appState.readConfig();
      const data = await appState.readSchema();
      print(databaseTypes(data, await readTypeCatalogue(appState.database, config), config));
      return 0;
    }),
};

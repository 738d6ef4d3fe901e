/** `svc types`: prints the types of the database for TypeScript clients. @module */
import { type Command, flagsOf } from "../../api/command.ts";
import { print } from "../../base/observe/output.ts";
import type { AppState } from "../../state/app_state/app_state.ts";

export const typesCommand: Command = {
  name: "types",
  doc: "Show the database's types for TypeScript clients, as --types does",
  example: "types svc.conf > database.ts",
  page: "docs/how-to/describe-the-api.md",
  flags: flagsOf({}),
  run: ({ config }, { withDatabase }) =>
    withDatabase(config, async (appState) => {
      await printTypes(appState);
      return 0;
    }),
};

/** Prints the types of a service's schemas. */
export async function printTypes(appState: AppState): Promise<void> {
  const { databaseTypes, readTypeCatalogue } = await import("../../wings/types/database_types.ts");
  const config = await appState.readConfig();
  const data = await appState.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(databaseTypes(data, await readTypeCatalogue(appState.database, config), config));
}

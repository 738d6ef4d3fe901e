/** The wing that permits only listed requests. It can also record them. @module */
import type { Wing } from "../../api/wing.ts";
import { openOperations } from "./guard.ts";
import { recordCommand } from "./record_command.ts";
import { operationOptions } from "./operation_options.ts";

export const operationsWing: Wing = {
  name: "operations",
  options: operationOptions,
  openGuard: openOperations,
  commands: [recordCommand],
};

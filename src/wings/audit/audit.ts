/** The wing that inspects a database and its policies: commands, and data of the console. @module */
import type { Wing } from "../../api/wing.ts";
import { auditData } from "./audit_data.ts";
import { accessCommand } from "./commands/access.ts";
import { checkCommand } from "./commands/check.ts";
import { contractCommand, diffCommand } from "./commands/contract.ts";
import { isolateCommand } from "./commands/isolate.ts";
import { testCommand } from "./commands/policy_tests.ts";
import { whyCommand } from "./commands/why.ts";

export const auditWing: Wing = {
  name: "audit",
  commands: [
    checkCommand,
    accessCommand,
    testCommand,
    isolateCommand,
    whyCommand,
    contractCommand,
    diffCommand,
  ],
  adminData: auditData,
};

/** Options of the dialect, the log and the answers. @module */
import { svcDialect } from "../../dialect.ts";
import { logLevels } from "../../observe/observation.ts";
import { boolean, dialectName, oneOf } from "../codecs.ts";
import { option } from "./option.ts";

export const generalOptions = {
  "client-error-verbosity": option({
    codec: oneOf(
      ["verbose", "minimal", "advise"],
      "Invalid client-error-verbosity. Check your configuration.",
      ["advise"],
    ),
    default: "verbose",
    doc:
      "Members of error bodies: `minimal` sends only `code` and `message`; `advise` also fills " +
      "missing hints with what to do.",
    example: '"minimal"',
    isOfPostgrest: true,
  }),
  "dialect": option({
    codec: dialectName,
    default: svcDialect,
    doc: "Dialect of the interface; `pgrst` is that of PostgREST.",
    example: '"svc"',
    reloadable: false,
  }),
  "log-level": option({
    codec: oneOf(logLevels, "Invalid logging level. Check your configuration."),
    default: "error",
    doc: "Log level; logged requests: none, status 500 and up, 400 and up, all, all.",
    example: '"error"',
    isUncommented: true,
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "log-query": option({
    codec: boolean,
    default: false,
    doc: "Logs the SQL of logged requests.",
    example: "false",
    isUncommented: true,
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "url-use-legacy-target-names": option({
    codec: boolean,
    default: true,
    doc: "Lets filters address an aliased embed by the name of its relation; deprecated.",
    example: "true",
    isUncommented: true,
    isOfPostgrest: true,
  }),
} as const;

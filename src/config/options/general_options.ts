/**
 * Options of the dialect, the log and the answers.
 *
 * @module
 */
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
    reloadable: true,
    inDatabase: true,
    doc:
      "Members of error bodies: `minimal` sends only `code` and `message`; `advise` also fills " +
      "missing hints with what to do.",
    example: '"minimal"',
  }),
  "dialect": option({
    codec: dialectName,
    default: svcDialect,
    reloadable: false,
    inDatabase: false,
    doc: "Dialect of the interface; `pgrst` is that of PostgREST.",
    example: '"svc"',
    extension: true,
  }),
  "log-level": option({
    codec: oneOf(logLevels, "Invalid logging level. Check your configuration."),
    default: "error",
    reloadable: true,
    inDatabase: false,
    doc: "Log level; logged requests: none, status 500 and up, 400 and up, all, all.",
    example: '"error"',
    isUncommented: true,
  }),
  "log-query": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: false,
    doc: "Logs the SQL of logged requests.",
    example: "false",
    isUncommented: true,
  }),
  "url-use-legacy-target-names": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: true,
    doc: "Lets filters address an aliased embed by the name of its relation; deprecated.",
    example: "true",
    isUncommented: true,
  }),
} as const;

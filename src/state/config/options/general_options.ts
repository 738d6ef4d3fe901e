/** Options of the dialect, the log and the answers. @module */
import { svcDialect } from "../../../base/dialect.ts";
import { boolean, dialectName, oneOf } from "../codecs.ts";
import { flag, option } from "./option.ts";
import { logLevels } from "../../../base/log_level.ts";

export const generalOptions = {
  "client-error-verbosity": option({
    codec: oneOf(["verbose", "minimal", "advise"], "client-error-verbosity", ["advise"]),
    default: "verbose",
    doc: "Members of error bodies: `minimal` sends only `code` and `message`; `advise` also " +
      "fills missing hints with what to do.",
    example: '"minimal"',
    isOfPostgrest: true,
  }),
  "dialect": option({
    codec: dialectName,
    default: svcDialect,
    doc: "Dialect of the interface; `pgrst` is PostgREST's.",
    reloadable: false,
  }),
  "log-level": option({
    codec: oneOf(logLevels, "logging level"),
    default: "error",
    doc: "Log level; logged requests: none, status 500 and up, 400 and up, all, all.",
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "log-query": flag({
    doc: "Logs the SQL of logged requests.",
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "url-use-legacy-target-names": option({
    codec: boolean,
    default: true,
    doc: "Lets filters address an aliased embed by the name of its relation; deprecated.",
    isOfPostgrest: true,
  }),
} as const;

/** Options of the pools, of the primary and of standbys. @module */
import { boolean, integer, oneOf } from "../codecs.ts";
import { time } from "../units.ts";
import { option } from "./option.ts";
import { seconds } from "./shared_codecs.ts";
import { serverConnectionString } from "../secret.ts";

export const poolOptions = {
  "db-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: 10,
    doc: "Maximum number of connections in the pool.",
    reloadable: false,
    isOfPostgrest: true,
    isShared: true,
  }),
  "db-pool-acquisition-timeout": option({
    codec: seconds(0),
    default: 10,
    doc: "Seconds that a request waits for a connection before it fails with SVC003.",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "db-pool-automatic-recovery": option({
    codec: boolean,
    default: true,
    doc: "Reconnects if the connection is lost; if false, the process exits, and a library " +
      "handler reconnects at its next request.",
    example: "false",
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "db-pool-max-idletime": option({
    aliases: ["db-pool-timeout"],
    aliasFirst: true,
    codec: seconds(0),
    default: 30,
    doc: "Seconds after which the pool closes an idle connection.",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "db-pool-max-lifetime": option({
    codec: seconds(0),
    default: 1800,
    doc: "Seconds after which the pool replaces a connection, as soon as it is idle.",
    reloadable: false,
    isOfPostgrest: true,
  }),
} as const;

export const replicaOptions = {
  "db-replica-uri": option({
    codec: serverConnectionString,
    default: null,
    doc: "Connection string of one or more standbys for reads; `db-uri` supplies user, " +
      "password and database if it lacks them.",
    example: '"postgres://standby1.internal,standby2.internal/shop"',
    reloadable: false,
  }),
  "db-replica-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: null,
    doc: "Maximum number of connections to each standby; if it is not set, the value of `db-pool`.",
    example: "10",
    reloadable: false,
    isShared: true,
  }),
  "db-replica-max-lag": option({
    codec: time(),
    default: 10,
    doc: "A standby that lags further behind the primary executes no reads.",
    example: '"2s"',
    inDatabase: false,
  }),
  "db-replica-fallback": option({
    codec: oneOf(["primary", "error"], "db-replica-fallback"),
    default: "primary",
    doc: "Read for which no standby is fit: the primary executes it, or it fails with SVC000.",
    example: '"error"',
    inDatabase: false,
  }),
} as const;

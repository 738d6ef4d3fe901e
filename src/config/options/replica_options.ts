/**
 * Options of reads on standbys.
 *
 * @module
 */
import { boolean, integer, oneOf } from "../codecs.ts";
import { serverConnectionString } from "../secret.ts";
import { time } from "../units.ts";
import { option } from "./option.ts";

export const replicaOptions = {
  "db-bookmark-cookie": option({
    codec: boolean,
    default: false,
    reloadable: false,
    inDatabase: false,
    doc: "With replicas, also sends the bookmark as the cookie `svc-bookmark`, and reads it there.",
    example: "true",
    extension: true,
  }),
  "db-replica-uri": option({
    codec: serverConnectionString,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Connection string of one or more standbys for reads; user, password and database are " +
      "those of `db-uri` unless it has its own.",
    example: '"postgres://standby1.internal,standby2.internal/shop"',
    extension: true,
  }),
  "db-replica-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Maximum number of connections to each standby; if it is not set, that of `db-pool`.",
    example: "10",
    extension: true,
  }),
  "db-replica-max-lag": option({
    codec: time(),
    default: 10,
    reloadable: true,
    inDatabase: false,
    doc: "A standby that lags further behind the primary executes no reads.",
    example: '"2s"',
    extension: true,
  }),
  "db-replica-wait": option({
    codec: time(),
    default: 0.1,
    reloadable: true,
    inDatabase: false,
    doc: "Longest wait of a read with a bookmark for a standby before the primary executes it.",
    example: '"50ms"',
    extension: true,
  }),
  "db-replica-fallback": option({
    codec: oneOf(
      ["primary", "error"],
      "Invalid db-replica-fallback. Check your configuration.",
    ),
    default: "primary",
    reloadable: true,
    inDatabase: false,
    doc: "Read for which no standby is fit: the primary executes it, or it fails with SVC000.",
    example: '"error"',
    extension: true,
  }),
} as const;

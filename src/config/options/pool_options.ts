/**
 * Options of the connection pool.
 *
 * @module
 */
import { boolean, integer } from "../codecs.ts";
import { time } from "../units.ts";
import { option } from "./option.ts";
import { seconds } from "./shared_codecs.ts";

export const poolOptions = {
  "db-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: 10,
    reloadable: false,
    inDatabase: false,
    doc: "Maximum number of connections in the pool.",
    example: "10",
    isUncommented: true,
  }),
  "db-pool-acquisition-timeout": option({
    codec: seconds(0),
    default: 10,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds that a request waits for a connection before it fails with SVC003.",
    example: "10",
  }),
  "db-pool-automatic-recovery": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: false,
    doc:
      "Reconnects if the connection is lost; if false, the process exits, and a library handler " +
      "reconnects at its next request.",
    example: "false",
  }),
  "db-pool-max-idletime": option({
    aliases: ["db-pool-timeout"],
    aliasFirst: true,
    codec: seconds(0),
    default: 30,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds after which the pool closes an idle connection.",
    example: "30",
  }),
  "db-pool-queue-target": option({
    codec: time(),
    default: 0,
    reloadable: true,
    inDatabase: false,
    doc:
      "Longest wait for a connection while the queue never empties; then the request fails with " +
      "SVC135. 0 sets no such limit.",
    example: '"50ms"',
    extension: true,
  }),
  "db-pool-max-lifetime": option({
    codec: seconds(0),
    default: 1800,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds after which the pool replaces a connection, as soon as it is idle.",
    example: "1800",
  }),
} as const;

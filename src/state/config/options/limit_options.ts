/** Options of the limits that protect the process. @module */
import { integer } from "../codecs.ts";
import { size, time } from "../units.ts";
import { option } from "./option.ts";

export const limitOptions = {
  "server-body-timeout": option({
    codec: time(),
    default: 0,
    doc: "Time within which the next piece of a request body must arrive, or the whole body if " +
      "it has at most 4 KiB; a slower one fails with SVC133. 0 sets no limit.",
    example: '"60s"',
    inDatabase: false,
  }),
  "server-header-timeout": option({
    codec: time(),
    default: 0,
    doc: "Time in which a client that has connected must send the header of its first request; " +
      "then the connection is closed. 0 sets no limit.",
    example: '"30s"',
    reloadable: false,
  }),
  "server-idle-timeout": option({
    codec: time(),
    default: 0,
    doc:
      "Time in which the next request must arrive on a connection; then it is closed. 0 sets no limit.",
    example: '"30s"',
    reloadable: false,
  }),
  "server-max-body-size": option({
    codec: size(),
    default: 0,
    doc: "Largest request body in bytes; a longer one fails with SVC130. 0 sets no limit.",
    example: '"10m"',
  }),
  "server-max-connections": option({
    codec: integer({ min: 0 }),
    default: 0,
    doc: "Most connections of clients; for a further one the longest idle one is closed, or it " +
      "waits. 0 sets no limit.",
    example: "1000",
    reloadable: false,
    isShared: true,
  }),
  "server-max-header-size": option({
    codec: size(),
    default: 0,
    doc: "Largest header of a request in bytes: names, values and 4 bytes for each; a larger one " +
      "fails with SVC132. 0 sets no limit.",
    example: '"16k"',
  }),
  "server-max-query-body": option({
    codec: size(),
    default: 1024 * 1024,
    doc:
      "Largest body of QUERY and `$query` in bytes; a longer one fails with SVC176. 0 sets no limit.",
    example: '"1m"',
  }),
  "server-max-requests": option({
    codec: integer({ min: 0 }),
    default: 0,
    doc: "Most requests in progress at a time, queued ones included; further ones fail with " +
      "SVC135. 0 sets no limit.",
    example: "1000",
    inDatabase: false,
    isShared: true,
  }),
  "server-request-timeout": option({
    codec: time(),
    default: 0,
    doc: "Time from the end of a request's header to the head of its response; then the " +
      "statement is canceled, and the request fails with SVC134. 0 sets no limit.",
    example: '"30s"',
  }),
  "server-max-url-length": option({
    codec: size(),
    default: 0,
    doc: "Longest path with query string of a request in bytes; a longer one fails with SVC131. " +
      "0 sets no limit.",
    example: '"8k"',
  }),
} as const;

/**
 * Options of standbys that execute reads.
 *
 * @module
 */
import { boolean } from "../codecs.ts";
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
} as const;

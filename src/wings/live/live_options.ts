/** Options of live queries: the prefix of their paths, and the limits of streams. @module */
import type { Config, OptionValues } from "../../state/config/options.ts";
import { integer } from "../../state/config/codecs.ts";
import { size, time } from "../../state/config/units.ts";
import { option } from "../../state/config/options/option.ts";
import { endpointPath } from "../../state/config/options/shared_codecs.ts";

export const liveOptions = {
  "live-interval": option({
    codec: time({ min: 0.01, max: 2 }),
    default: 0.1,
    doc: "Time between two polls of recorded changes, while there are live queries.",
    example: '"250ms"',
  }),
  "live-max-memory": option({
    codec: size({ min: 2 ** 20, max: Number.MAX_SAFE_INTEGER }),
    default: 2 ** 27,
    doc: "Most bytes of the rows and the logs of all live queries.",
    example: '"256m"',
    isShared: true,
  }),
  "live-max-rows": option({
    codec: integer({ min: 1, max: 1_000_000 }),
    default: 10_000,
    doc: "Most rows of the result of a live query; a larger one fails with SVC182.",
    example: "1000",
  }),
  "live-max-streams": option({
    codec: integer({ min: 1, max: 1_000_000 }),
    default: 10_000,
    doc: "Most streams and waiting polls of live queries; one client has at most a tenth of them.",
    example: "2000",
    isShared: true,
  }),
  "live-path": option({
    codec: endpointPath("/live"),
    default: null,
    doc: "Prefix of live queries; see [Keep a result up to date](../how-to/live.md).",
    example: '"/live"',
    endpoint: { paths: "below" },
    reloadable: false,
  }),
  "live-recheck": option({
    codec: time({ min: 1, max: 86_400 }),
    default: 60,
    doc: "Longest life of a stream, and of the result of a live query without a new read.",
    example: '"30s"',
  }),
} as const;

/** The configuration with the options of this wing. */
export type LiveConfig = Config & OptionValues<typeof liveOptions>;

/**
 * The machine and the runtime that this process runs on.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import type { Machine } from "./shares.ts";

/** Returns the machine. */
export function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    environment: process.env,
    // Node has no such option for threads. Other systems than Linux do not divide connections.
    sharesAddress: "Deno" in globalThis && process.platform === "linux",
  };
}

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
    // In Node, one thread cannot listen on the address of another.
    sharesAddress: "Deno" in globalThis,
  };
}

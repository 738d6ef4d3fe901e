/** The machine and the runtime that this process runs on. @module */
import { availableParallelism } from "node:os";
import process from "node:process";
import type { Machine } from "./shares.ts";

/** Returns the machine. */
export function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    environment: process.env,
    addressLimit: addressLimit(),
  };
}

/** Node has no such option for threads. Other systems than Linux do not divide connections. */
function addressLimit(): Machine["addressLimit"] {
  if (!("Deno" in globalThis) || process.platform !== "linux") return "system";
  // The flag that permits to share an address also defines this function.
  return "listenDatagram" in Deno ? null : "unstable-net";
}

/** The version of the service, as `deno.json` has it. */
export const version = "0.2.0";

// Runs the program on Node.
import process from "node:process";

// Prevents the default actions of these signals, which open the debugger or end the process.
for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP"]) process.on(signal, () => {});
closeDebugger();

const { main } = await import("./program.js");
closeDebugger();
process.exit(await main(process.argv.slice(2)));

/** Closes the debugger that a SIGUSR1 before the listener has opened, unless a flag requests it. */
function closeDebugger() {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].join(" ");
  if (flags.includes("--inspect")) return;
  const inspector = process.getBuiltinModule("node:inspector");
  if (inspector.url() !== undefined) inspector.close();
}

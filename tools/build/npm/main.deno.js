// Runs the program on Deno, in a worker, so that SIGUSR1 never opens Deno's debugger.
const { runInWorker } = await import(new URL("./main_thread.js", import.meta.url).href);
runInWorker(new URL("./program.js", import.meta.url));

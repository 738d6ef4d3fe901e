/**
 * The process: arguments, environment, files, sockets, signals, exit codes. No decisions.
 *
 * @module
 */
import inspector from "node:inspector";
import { dirname, isAbsolute, resolve } from "node:path";
import {
  helpText,
  parseArguments,
  readyCheck,
  readyVerdict,
  usage,
  versionText,
} from "./src/cli.ts";
import type { Config } from "./src/config/options.ts";
import { dumpConfig, exampleFile } from "./src/config/print.ts";
import { type ConfigSource, configSource, noValues } from "./src/config/source.ts";
import type { Database } from "./src/database/database.ts";
import { isEmbedded, openDatabase } from "./src/database/open.ts";
import { hasBody } from "./src/errors/http_text.ts";
import { svcDialect } from "./src/dialect.ts";
import { adminHandler } from "./src/admin.ts";
import { serviceHandler } from "./src/handler.ts";
import { isHostHeader } from "./src/http/host.ts";
import { LineSink } from "./src/observe/line_sink.ts";
import type { LogLevel, Observation } from "./src/observe/observation.ts";
import { createReporter } from "./src/observe/reporter.ts";
import { assetReader } from "./src/page_assets.ts";
import { Service } from "./src/service.ts";
import { dumpSchemaCache } from "./src/schema_cache/dump.ts";
import { version } from "./src/version.ts";

async function main(argv: readonly string[]): Promise<void> {
  const command = parseArguments(argv);
  switch (command.kind) {
    case "help":
      return print(helpText());
    case "version":
      return print(versionText());
    case "example":
      return print(exampleFile());
    case "error":
      return fail(`${command.message}\n${usage().trimEnd()}`);
    case "dump-config":
      return await once(
        command.file,
        async (service) => print(dumpConfig(await service.readConfig())),
      );
    case "dump-schema":
      return await once(command.file, dumpSchema);
    case "types":
      return await once(command.file, printTypes);
    case "ready":
      return await askReady(readConfig(command.file));
    case "run":
      return await run(command.file);
    default:
      return command satisfies never;
  }
}

function print(text: string): void {
  writeAll(Deno.stdout, new TextEncoder().encode(text));
}

function fail(message: string): never {
  writeAll(Deno.stderr, new TextEncoder().encode(`${svcDialect.productToken}: ${message}\n`));
  Deno.exit(1);
}

function writeAll(output: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += output.writeSync(bytes.subarray(at));
}

/** Reads file and environment, or ends the process with one line that says what is wrong. */
function readConfig(file: string | null): Config {
  try {
    return sourceOf(file).configure(noValues);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function sourceOf(file: string | null): ConfigSource {
  const source = configSource({
    file: file === null ? null : { path: file, text: readText(file) },
    environment: Deno.env.toObject(),
    readFile: (path) => Deno.readFileSync(beside(file, path)),
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

/** Does one thing with a service that serves nothing, and ends the process. */
async function once(
  file: string | null,
  work: (service: Service) => Promise<void>,
): Promise<never> {
  const config = readConfig(file);
  const log = openLog(config.logLevel);
  try {
    const database = await openFor(config, file);
    const { observe } = log;
    const source = () => sourceOf(file);
    const service = await Service.create({ source, database, now: Date.now, observe });
    await work(service);
    await service.close();
  } catch (error) {
    log.flush();
    fail(error instanceof Error ? error.message : String(error));
  }
  log.flush();
  Deno.exit(0);
}

async function dumpSchema(service: Service): Promise<void> {
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(dumpSchemaCache(data) + "\n");
}

async function printTypes(service: Service): Promise<void> {
  const { databaseTypes, readTypeCatalogue } = await import("./src/types_output/database_types.ts");
  const config = await service.readConfig();
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(databaseTypes(data, await readTypeCatalogue(service.database, config), config));
}

function openFor(config: Config, file: string | null): Promise<Database> {
  return openDatabase(config, {
    embeddedInit: readInit(config, file),
    applicationName: config.dialect.displayName,
    now: Date.now,
  });
}

async function askReady(config: Config): Promise<void> {
  const check = readyCheck(config);
  if (check.kind === "problem") return verdict({ ready: false, message: check.message });
  const status = await fetch(check.url, { redirect: "manual" }).then(
    async (response) => (await response.body?.cancel(), response.status),
    () => null,
  );
  verdict(readyVerdict(check.url, status));
}

function verdict({ ready, message }: ReturnType<typeof readyVerdict>): void {
  writeAll(ready ? Deno.stdout : Deno.stderr, new TextEncoder().encode(`${message}\n`));
  Deno.exit(ready ? 0 : 1);
}

function readText(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
}

/** Paths in a configuration file are meant from its folder. */
function beside(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}

async function run(file: string | null): Promise<void> {
  const config = readConfig(file);
  const log = openLog(config.logLevel);
  try {
    await serve(file, config, log);
  } catch (error) {
    log.flush();
    fail(error instanceof Error ? error.message : String(error));
  }
}

/** The folder of an embedded database is meant from the configuration file's, too. */
function withPaths(config: Config, file: string | null): Config {
  const place = config.dbUri.slice("pglite://".length);
  if (!isEmbedded(config.dbUri) || place === "memory" || place.includes("://")) return config;
  return { ...config, dbUri: `pglite://${beside(file, place)}` };
}

async function serve(file: string | null, config: Config, log: Log): Promise<void> {
  const { observe } = log;
  const { displayName } = config.dialect;
  observe({ kind: "starting", name: displayName, version });
  const embedded = isEmbedded(config.dbUri);
  const began = Date.now();
  if (embedded) observe({ kind: "embedded-starting", folder: embeddedFolder(config) });
  const database = await openFor(config, file);
  const service = await Service.create({
    source: () => sourceOf(file),
    database,
    now: Date.now,
    observe,
  });
  log.follow(() => service.snapshot.config.logLevel);
  let live = false;
  const admin = serveAdmin(service, config, { isLive: () => live, observe });
  const stopped = stopSignal(observe);
  const watching = watchSignals(service);
  await Promise.race([service.reloadSchema(), stopped]);
  if (embedded) observe({ kind: "embedded-ready", ms: Date.now() - began });
  const api = serveApi(service, config, observe);
  live = true;
  await stopped;
  live = false;
  watching();
  await Promise.all([api.shutdown(), admin?.shutdown()]);
  await service.close();
  log.flush();
  Deno.exit(0);
}

function embeddedFolder({ dbUri }: Config): string | null {
  const place = dbUri.slice("pglite://".length);
  return place === "memory" ? null : place;
}

function readInit(config: Config, file: string | null): string | null {
  if (config.dbEmbeddedInit === null) return null;
  return readText(beside(file, config.dbEmbeddedInit));
}

type Server = Deno.HttpServer<Deno.NetAddr> | Deno.HttpServer<Deno.UnixAddr>;

interface Listening {
  readonly what: "api" | "admin";
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly observe: (event: Observation) => void;
}

const hosts: ReadonlyMap<string, string> = new Map([
  ["*", "0.0.0.0"],
  ["*4", "0.0.0.0"],
  ["!4", "0.0.0.0"],
  ["*6", "::"],
  ["!6", "::"],
]);

function listen(
  { what, host, port, reusePort, observe }: Listening,
  handler: (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>,
): Server {
  const hostname = hosts.get(host) ?? host;
  return serveOn({
    hostname,
    port,
    reusePort,
    onListen: ({ hostname, port }) => {
      const address = hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
      observe({ kind: "listening", what, address });
    },
    onError: (error) => {
      observe({ kind: "unexpected-error", error });
      return new Response("Something went wrong", { status: 500 });
    },
  }, async (request, info) => {
    if (isHostHeader(request.headers.get("host"))) return await handler(request, info);
    return new Response("Bad Request", { status: 400 });
  });
}

/** Begins to listen; says which address it was when that fails. */
function serveOn(
  options: Deno.ServeTcpOptions,
  handler: (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>,
): Server {
  try {
    return Deno.serve(options, handler);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown reason";
    throw new Error(`cannot listen on ${options.hostname}:${options.port}: ${reason}`);
  }
}

function serveApi(
  service: Service,
  config: Config,
  observe: (event: Observation) => void,
): Server {
  const handle = serviceHandler(service);
  return listen(
    {
      what: "api",
      host: config.serverHost,
      port: config.serverPort,
      reusePort: config.serverReuseport,
      observe,
    },
    async (request, { remoteAddr }) => {
      const client = "hostname" in remoteAddr ? remoteAddr.hostname : null;
      return sendable(request, await handle(request, { client }));
    },
  );
}

/**
 * Makes of an answer one that Deno can send. Deno leaves out the length of a 205, for which clients
 * then wait; and it gives an answer to HEAD a length of 0 unless its body is a stream.
 */
function sendable(request: Request, response: Response): Response {
  const { status, headers } = response;
  if (status === 205) return new Response(null, { status: 204, headers });
  if (request.method !== "HEAD" || headers.has("Content-Length") || !hasBody(status)) {
    return response;
  }
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), response);
}

function serveAdmin(
  service: Service,
  config: Config,
  { isLive, observe }: {
    readonly isLive: () => boolean;
    readonly observe: (event: Observation) => void;
  },
): Server | null {
  if (config.adminServerPort === null) return null;
  const { adminServerHost: host, adminServerPort: port } = config;
  return listen(
    { what: "admin", host, port, reusePort: false, observe },
    adminHandler(service, { isLive, readAsset: assetReader() }),
  );
}

/** Resolves with the first signal that asks the process to end. */
function stopSignal(observe: (event: Observation) => void): Promise<void> {
  let asked = false;
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => {
        if (!asked) observe({ kind: "terminating", signal });
        asked = true;
        resolve();
      });
    }
  });
}

/** Reloads on signals; returns what ends that. */
function watchSignals(service: Service): () => void {
  const keepShut = inspector.url() === undefined;
  const schema = () => {
    if (keepShut) shutInspector();
    service.reloadSchema();
  };
  const config = () => void service.reloadConfig();
  const listeners = [["SIGUSR1", schema], ["SIGHUP", schema], ["SIGUSR2", config]] as const;
  for (const [signal, listener] of listeners) Deno.addSignalListener(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) Deno.removeSignalListener(signal, listener);
  };
}

/**
 * Deno opens its debugger on a local port when SIGUSR1 arrives, whoever listens to the signal. It is
 * shut again, soon and once more in case it was slow.
 */
function shutInspector(): void {
  for (const milliseconds of [0, 20, 200]) setTimeout(() => inspector.close(), milliseconds);
}

interface Log {
  readonly observe: (event: Observation) => void;
  /** Tells where the level stands that may change. */
  readonly follow: (level: () => LogLevel) => void;
  readonly flush: () => void;
}

/** Requests go to stdout, everything else to stderr. */
function openLog(initial: LogLevel): Log {
  let level = () => initial;
  const access = new LineSink({ write: (bytes) => writeAll(Deno.stdout, bytes) });
  const diagnostics = new LineSink({ write: (bytes) => writeAll(Deno.stderr, bytes) });
  return {
    observe: createReporter({
      level: () => level(),
      now: Date.now,
      offsetMinutes: (epochMs) => -new Date(epochMs).getTimezoneOffset(),
      access,
      diagnostics,
    }),
    follow: (current) => void (level = current),
    flush() {
      access.flush();
      diagnostics.flush();
    },
  };
}

await main(Deno.args);

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { noValues } from "../../../../src/state/config/load.ts";
import { configSource } from "../../../../src/state/config/source.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const secret = "reallyreallyreallyreallyverysafe";
const uri = "postgres://from/file";

/** Reads of files, and what is in them. */
function counted(files: Readonly<Record<string, string>>) {
  const reads: string[] = [];
  const readFile = (path: string, base: string) => {
    reads.push(`${path} from the ${base}`);
    const text = files[path];
    if (text === undefined) throw new Error("No such file");
    return new TextEncoder().encode(text);
  };
  return { reads, readFile };
}

const text = 'db-uri = "@uri"\ndb-schemas = "api"\njwt-secret = "@secret"\n';
const files = { uri, secret };

Deno.test("a source reads each file once, however often it configures", () => {
  const { reads, readFile } = counted(files);
  const source = configSource({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile,
  });
  for (const values of [noValues, new Map([["db_max_rows", "5"]]), noValues]) {
    const config = source.configure(values);
    strictEqual(config.dbUri, uri);
    strictEqual(new TextDecoder().decode(config.jwtSecret!), secret);
  }
  source.makeOptionError("jwt-secret", "is no good", noValues);
  deepStrictEqual(reads, ["uri from the configuration file", "secret from the configuration file"]);
});

Deno.test("a source of a service that has started does not read the file of db-uri", () => {
  const first = counted(files);
  const started = loadConfig({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile: first.readFile,
  });
  const later = counted({ secret });
  const source = configSource({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile: later.readFile,
    startupConfig: started,
  });
  strictEqual(source.configure(noValues).dbUri, uri);
  deepStrictEqual(later.reads, ["secret from the configuration file"]);
});

Deno.test("a source of a service that has started reads a db-uri that names no file", () => {
  const { readFile } = counted(files);
  const started = loadConfig({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile,
  });
  const inline = text.replace("@uri", "postgres://other");
  const source = configSource({
    wingOptions,
    file: { path: "svc.conf", text: inline },
    environment: {},
    readFile,
    startupConfig: started,
  });
  strictEqual(source.configure(noValues).dbUri, "postgres://other");
});

Deno.test("a file that cannot be read is tried again", () => {
  const changing: Record<string, string> = { uri };
  const { readFile } = counted(changing);
  const source = configSource({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile,
  });
  throws(() => source.configure(noValues), {
    message: 'svc.conf:3: jwt-secret: cannot read the file "secret": No such file',
  });
  changing["secret"] = secret;
  strictEqual(source.configure(noValues).dbUri, uri);
});

Deno.test("in pgrst values' files are meant from the working directory, imports are not", () => {
  const { reads, readFile } = counted({ ...files, "more.conf": 'jwt-secret = "@secret"' });
  configSource({
    wingOptions,
    file: { path: "svc.conf", text: 'dialect = "pgrst"\ndb-uri = "@uri"\nimport "more.conf"\n' },
    environment: {},
    readFile,
  }).configure(noValues);
  deepStrictEqual(reads, [
    "more.conf from the configuration file",
    "uri from the working directory",
    "secret from the working directory",
  ]);
});

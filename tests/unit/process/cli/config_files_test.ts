import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { noValues } from "../../../../src/state/config/load.ts";
import { configReader } from "../../../../src/state/config/config_files.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const secret = "reallyreallyreallyreallyverysafe";

async function withFolder(use: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc_files_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function write(path: string, text: string): void {
  Deno.writeTextFileSync(path, text);
}

const read = (bytes: Uint8Array | null) => new TextDecoder().decode(bytes!);

Deno.test("configReader() reads regular files again, except that of db-uri", () =>
  withFolder((folder) => {
    const file = `${folder}/svc.conf`;
    write(file, 'db-uri = "@uri"\ndb-schemas = "api"\njwt-secret = "@secret"\n');
    write(`${folder}/uri`, "postgres://h/db\n");
    write(`${folder}/secret`, secret);
    const { config, initialSource, read: readAgain } = configReader({
      file: file,
      flags: new Map(),
    }, { wingOptions });
    strictEqual(config.dbUri, "postgres://h/db");
    Deno.removeSync(`${folder}/uri`);
    write(`${folder}/secret`, secret.toUpperCase());
    strictEqual(read(initialSource.configure(noValues).jwtSecret), secret);
    const later = readAgain().configure(noValues);
    strictEqual(later.dbUri, "postgres://h/db");
    strictEqual(read(later.jwtSecret), secret.toUpperCase());
    throws(
      () => configReader({ file: file, flags: new Map() }, { wingOptions }),
      /db-uri: cannot read the file "uri": no such file/,
    );
  }));

Deno.test("configReader() reads a pipe once", () =>
  withFolder(async (folder) => {
    const [file, pipe] = [`${folder}/svc.conf`, `${folder}/pipe`];
    const made = await new Deno.Command("mkfifo", { args: [pipe] }).output();
    strictEqual(made.success, true);
    write(file, 'db-uri = "postgres://h"\ndb-schemas = "api"\njwt-secret = "@pipe"\n');
    // A separate process writes, since opening a pipe waits for the reader.
    const writer = new Deno.Command("sh", {
      args: ["-c", `printf %s ${secret} > ${pipe}`],
    }).spawn();
    const reader = configReader({ file: file, flags: new Map() }, { wingOptions });
    await writer.status;
    for (const source of [reader.initialSource, reader.read(), reader.read()]) {
      strictEqual(read(source.configure(noValues).jwtSecret), secret);
    }
  }));

Deno.test("configReader() resolves paths in values against the folder of the dialect", () =>
  withFolder((folder) => {
    const names = ["svc", "pgrst"].map((dialect) => {
      const file = `${folder}/${dialect}.conf`;
      write(file, `dialect = "${dialect}"\ndb-uri = "@deno.json"\ndb-schemas = "api"\n`);
      try {
        configReader({ file: file, flags: new Map() }, { wingOptions });
        return "";
      } catch (error) {
        return (error as Error).message.replace(/.*: db-uri: /, "");
      }
    });
    deepStrictEqual(names.map((message) => message.startsWith("cannot read the file")), [
      true,
      false,
    ]);
  }));

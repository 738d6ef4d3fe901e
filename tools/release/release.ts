/** Makes all files of a release: `deno task release` writes them to `dist/release`. With `--check`, it
 * also makes them from a copy of the sources in another folder, and compares the bytes. With
 * `--tag v1.2.3`, it fails if the version is not 1.2.3. @module */
import { createHash } from "node:crypto";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../src/base/version.ts";
import { buildNpmPackage, manifest } from "../build/npm.ts";
import { debArchitectures, makeDeb } from "./deb.ts";
import { executableName, executablesFolder, targets } from "./executables.ts";
import { billOfMaterials, type LockFile } from "./sbom.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Replaces the folder by a new one with the files of a release. Returns the text of the checksums. */
export async function makeRelease(
  folder: string,
  executables: string = executablesFolder,
): Promise<string> {
  const work = await Deno.makeTempDir({ prefix: "svc_release_" });
  try {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await Deno.mkdir(folder, { recursive: true });
    const npm = join(work, "npm");
    await buildNpmPackage(npm);
    await pack(npm, folder);
    for (const file of ["dist/svc.js", "dist/mcp.js", "THIRD_PARTY.md", "LICENSE"]) {
      await Deno.copyFile(join(npm, file), join(folder, file.replace("dist/", "")));
    }
    await packTypes(join(npm, "dist", "types"), folder);
    await Deno.writeTextFile(join(folder, "sbom.cdx.json"), await sbom(npm));
    const changelog = await Deno.readTextFile(join(root, "CHANGELOG.md"));
    await Deno.writeTextFile(join(folder, "NOTES.md"), releaseNotes(changelog, version));
    await addExecutables(executables, folder);
    return await writeChecksums(folder);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** Adds the compiled executables, their Debian packages, and the formula of Homebrew, if there are any. */
async function addExecutables(from: string, folder: string): Promise<void> {
  const sums = new Map<string, string>();
  for (const target of targets) {
    const name = executableName(target);
    const executable = join(from, name);
    const bytes = await Deno.readFile(executable).catch(() => null);
    if (bytes === null) continue;
    await Deno.writeFile(join(folder, name), bytes, { mode: 0o755 });
    sums.set(target, sha256(bytes));
    const architecture = debArchitectures.get(target);
    if (architecture === undefined) continue;
    const seconds = await releaseSeconds();
    const path = join(folder, `svc_${version}_${architecture}.deb`);
    await makeDeb({ executable, architecture, version, seconds }, path);
  }
  if (sums.size === 0) return;
  const template = await Deno.readTextFile(new URL("svc.rb", import.meta.url));
  const repository = Deno.env.get("GITHUB_REPOSITORY") ?? "svc/svc";
  const url = `https://github.com/${repository}/releases/download/v${version}`;
  const formula = fillTemplate(
    template,
    new Map([...sums, ...Object.entries({ repository, url, version })]),
  );
  await Deno.writeTextFile(join(folder, "svc.rb"), formula);
}

/** Replaces the words in double braces by their values. Throws an `Error` for a word without a value. */
function fillTemplate(template: string, values: ReadonlyMap<string, string>): string {
  return template.replace(/\{\{([\w-]+)\}\}/g, (_, name) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`the formula needs ${name}, which was not compiled`);
    return value;
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Packs a folder by npm, which sorts the files and gives all of them the same time and owner. */
async function pack(source: string, folder: string): Promise<void> {
  await run("npm", ["pack", source, "--silent", `--pack-destination=${folder}`]);
}

/** Packs the declarations alone, for programs that use the bundle. */
async function packTypes(types: string, folder: string): Promise<void> {
  const text = JSON.stringify({ name: "svc-api-types", version, types: "./mod.d.ts" }, null, 2);
  await Deno.writeTextFile(join(types, "package.json"), `${text}\n`);
  await cp(join(root, "LICENSE"), join(types, "LICENSE"));
  await pack(types, folder);
}

async function sbom(npm: string): Promise<string> {
  const readJson = async (path: string) => JSON.parse(await Deno.readTextFile(join(root, path)));
  const locks: readonly LockFile[] = [
    await readJson("deno.lock"),
    await readJson("src/wings/console/pages/deno.lock"),
  ];
  const licences = await Deno.readTextFile(join(npm, "THIRD_PARTY.md"));
  const { name, peerDependencies } = manifest("");
  return billOfMaterials(locks, {
    name: String(name),
    version,
    bundled: new Set(Array.from(licences.matchAll(/^## (\S+ \S+)$/gm), ([, title]) => title!)),
    optionalPeers: Object.keys(peerDependencies as object),
    timestamp: new Date(await releaseSeconds() * 1000).toISOString(),
  });
}

/** Returns the time of the commit (https://reproducible-builds.org/specs/source-date-epoch/). */
async function releaseSeconds(): Promise<number> {
  const epoch = Deno.env.get("SOURCE_DATE_EPOCH");
  return Number(epoch ?? await run("git", ["log", "-1", "--format=%ct"]));
}

/** Returns the section of a version. Throws an `Error` if the changelog has no such section. */
export function releaseNotes(changelog: string, version: string): string {
  const [, section] = changelog.split(`\n## [${version}]`);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  const [, date = "", text] = /^(?: - (\S+))?\n([^]*?)(?=\n## \[|$)/.exec(`${section}\n## [`)!;
  return `# svc ${version}${date && `, ${date}`}\n\n${text!.trim()}\n`;
}

/** Writes the checksums of a folder's files, as `sha256sum --check` reads them. */
async function writeChecksums(folder: string): Promise<string> {
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  const lines = names.map((name) => {
    return `${sha256(Deno.readFileSync(join(folder, name)))}  ${name}\n`;
  });
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), lines.join(""));
  return lines.join("");
}

async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = { args: [...args], cwd: root, env };
  const { success, stdout, stderr } = await new Deno.Command(command, options).output();
  if (!success) throw new Error(`${command} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

/** Makes the release of a copy of the sources in a folder. Returns the text of its checksums. */
export async function makeElsewhere(
  folder: string,
  executables: string = executablesFolder,
): Promise<string> {
  for (const path of (await run("git", ["ls-files"])).split("\n")) {
    await cp(join(root, path), join(folder, path));
  }
  const env = {
    SOURCE_DATE_EPOCH: String(await releaseSeconds()),
    SVC_EXECUTABLES: executables,
  };
  const task = ["task", "--quiet", "--cwd", folder, "release"];
  return `${await run(Deno.execPath(), task, env)}\n`;
}

/** Makes a release twice. Returns the lines of checksums that differ. */
async function compareReleases(): Promise<readonly string[]> {
  const work = await Deno.makeTempDir({ prefix: "svc_releases_" });
  try {
    const first = (await makeRelease(join(work, "first"))).split("\n");
    const second = (await makeElsewhere(join(work, "second"))).split("\n");
    return [...new Set(first).symmetricDifference(new Set(second))];
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** Throws an `Error` for a tag of another version. */
function checkTag(tag: string | undefined): void {
  if (tag !== `v${version}`) throw new Error(`${tag} is not v${version}`);
}

if (import.meta.main) {
  const tagAt = Deno.args.indexOf("--tag");
  if (tagAt >= 0) checkTag(Deno.args[tagAt + 1]);
  if (Deno.args.includes("--check")) {
    const differences = await compareReleases();
    console.log(differences.length === 0 ? "two releases are equal" : differences.join("\n"));
    Deno.exit(differences.length === 0 ? 0 : 1);
  }
  console.log((await makeRelease(join(root, "dist", "release"))).trim());
}

/** Writes the software bill of materials of the npm archive, in CycloneDX 1.6
 * (https://cyclonedx.org/docs/1.6/json/), from the lock files. @module */

/** The part of a lock file of Deno that names npm packages. */
export interface LockFile {
  /** Versions of the packages that modules import: `"npm:pg@8.23.1": "8.23.1"`. */
  readonly specifiers: Readonly<Record<string, string>>;
  /** Packages by `name@version`. `_peer@version` follows if the peers differ between uses. */
  readonly npm: Readonly<
    Record<string, { readonly integrity: string; readonly dependencies?: readonly string[] }>
  >;
}

/** The content of the archive, in addition to the lock files of its packages. */
export interface ReleasedProgram {
  readonly name: string;
  readonly version: string;
  /** Titles of the sections of `THIRD_PARTY.md`: `name version`. */
  readonly bundled: ReadonlySet<string>;
  /** Names of packages that users may install in addition to the program. */
  readonly optionalPeers: readonly string[];
  /** Time of the release, in ISO 8601. */
  readonly timestamp: string;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly dependencies: readonly string[];
}

/** Returns the JSON text. Omits packages of the lock files that are not released. */
export function billOfMaterials(locks: readonly LockFile[], program: ReleasedProgram): string {
  const packages = new Map(locks.flatMap(readPackages).map((each) => [each.name, each]));
  const peers = withDependencies(program.optionalPeers, packages);
  const isBundled = ({ name, version }: Package) => program.bundled.has(`${name} ${version}`);
  const released = Array.from(packages.values())
    .filter((each) => isBundled(each) || peers.has(each.name))
    .sort((one, other) => one.name < other.name ? -1 : 1);
  const refs = new Map(released.map((each) => [each.name, packageUrl(each)]));
  const refsOf = (names: readonly string[]) => names.flatMap((name) => refs.get(name) ?? []).sort();
  const imported = locks.flatMap(({ specifiers }) => Object.keys(specifiers).map(specifierName));
  const root = packageUrl(program);
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: program.timestamp,
      component: {
        type: "application",
        "bom-ref": root,
        name: program.name,
        version: program.version,
        licenses: [{ license: { id: "MIT" } }],
        purl: root,
      },
    },
    components: released.map((each) => ({
      type: "library",
      "bom-ref": packageUrl(each),
      name: each.name,
      version: each.version,
      scope: isBundled(each) ? "required" : "optional",
      hashes: [{ alg: "SHA-512", content: sha512(each) }],
      purl: packageUrl(each),
    })),
    dependencies: [
      { ref: root, dependsOn: refsOf([...new Set(imported)]) },
      ...released.map((each) => ({ ref: packageUrl(each), dependsOn: refsOf(each.dependencies) })),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function readPackages({ npm }: LockFile): readonly Package[] {
  return Object.entries(npm).map(([id, { integrity, dependencies = [] }]) => {
    const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(id)!;
    return {
      name: name!,
      version: version!,
      integrity,
      dependencies: dependencies.map(specifierName),
    };
  });
}

/** Returns the name of `npm:name@version`, `npm:/name@version/` or `name@version`. */
function specifierName(specifier: string): string {
  return /^(?:npm:\/?)?(@?[^@]+)/.exec(specifier)![1]!;
}

/** Returns the names of packages, and of all their dependencies. */
function withDependencies(
  names: readonly string[],
  packages: ReadonlyMap<string, Package>,
): ReadonlySet<string> {
  const found = new Set(names);
  // The loop also visits the names that it adds to the set.
  for (const name of found) packages.get(name)?.dependencies.forEach((each) => found.add(each));
  return found;
}

/** Returns a package URL (https://github.com/package-url/purl-spec). */
function packageUrl({ name, version }: Pick<Package, "name" | "version">): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function sha512({ integrity }: Package): string {
  return Uint8Array.fromBase64(integrity.replace(/^sha512-/, "")).toHex();
}

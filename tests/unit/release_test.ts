import { deepStrictEqual, match, ok, throws } from "node:assert/strict";
import { load } from "js-yaml";
import denoConfig from "../../deno.json" with { type: "json" };
import { releaseNotes } from "../../tools/release/release.ts";
import { billOfMaterials } from "../../tools/release/sbom.ts";
import { packageVersions } from "../support/database/postgres_binaries.ts";

interface Job {
  readonly "timeout-minutes": number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> };
  readonly steps: readonly {
    readonly run?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }[];
}

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const folder = new URL("../../.github/workflows/", import.meta.url);
const texts = new Map(
  Array.from(
    Deno.readDirSync(folder),
    ({ name }) => [name, Deno.readTextFileSync(new URL(name, folder))],
  ),
);
const workflows = new Map(
  Array.from(texts, ([name, text]) => [name, load(text) as unknown as Workflow]),
);

/** Commands that are no tasks: those of Deno, and those that publish what a task made. */
const otherCommands =
  /^(?:deno fmt --check|deno lint|deno publish --dry-run --allow-slow-types|(?:npm publish|gh release create) .*dist\/release\/.*)$/;

for (const [name, { permissions, jobs }] of workflows) {
  Deno.test(`${name} runs tasks that exist, with few permissions and a time limit`, () => {
    deepStrictEqual(permissions, { contents: "read" });
    for (const job of Object.values(jobs)) {
      ok(job["timeout-minutes"] <= 60);
      for (const { run } of job.steps) {
        if (run === undefined) continue;
        const [, task] = /^deno task (\S+)/.exec(run) ?? [];
        if (task === undefined) match(run, otherCommands);
        else ok(Object.hasOwn(denoConfig.tasks, task), run);
      }
    }
  });

  Deno.test(`${name} names actions by commit, or by version with the reason`, () => {
    const uses = texts.get(name)!.split("\n").filter((line) => /^ *- uses:/.test(line));
    ok(uses.length > 0);
    for (const line of uses) match(line, /@(?:[0-9a-f]{40}|v\d+ # not pinned: see \S+)/);
  });

  Deno.test(`${name} has the version of Deno of .ci/run`, () => {
    const [, version] = /deno@([\d.]+)/.exec(Deno.readTextFileSync(".ci/run"))!;
    const versions = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => step.with?.["deno-version"] ?? [])
    );
    deepStrictEqual(versions, versions.map(() => version));
  });
}

Deno.test("test.yml tests each version of PostgreSQL that has binaries", () => {
  const { postgres } = workflows.get("test.yml")!.jobs;
  deepStrictEqual(postgres?.strategy?.matrix.postgres?.map(String), Object.keys(packageVersions));
});

Deno.test("release.yml compiles before it releases, and names images by version and latest", () => {
  const { files, container } = workflows.get("release.yml")!.jobs;
  const runs = files!.steps.flatMap(({ run }) => run ?? []);
  const [compiled, released] = [/release:executables/, /release --tag/]
    .map((pattern) => runs.findIndex((run) => pattern.test(run)));
  ok(compiled! >= 0 && compiled! < released!);
  const tags = container!.steps.flatMap((step) => step.with?.["tags"] ?? []);
  deepStrictEqual(tags, [
    "type=semver,pattern={{version}}\ntype=semver,pattern={{major}}.{{minor}}\n",
    "${{ steps.image.outputs.tags }}",
  ]);
});

Deno.test("dependabot.yml names folders with a lock file", async () => {
  const text = await Deno.readTextFile(new URL("../dependabot.yml", folder));
  const { updates } = load(text) as {
    readonly updates: readonly { readonly "package-ecosystem": string; directories?: string[] }[];
  };
  const { directories = [] } = updates.find((each) => each["package-ecosystem"] === "deno")!;
  for (const directory of directories) {
    ok((await Deno.stat(new URL(`../..${directory}/deno.lock`, folder))).isFile);
  }
});

Deno.test("releaseNotes() returns the section of a version", () => {
  const changelog =
    "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-23\n\n- b\n\n## [0.1.0]\n\n- a\n";
  deepStrictEqual(releaseNotes(changelog, "0.2.0"), "# svc 0.2.0, 2026-11-23\n\n- b\n");
  deepStrictEqual(releaseNotes(changelog, "0.1.0"), "# svc 0.1.0\n\n- a\n");
  throws(() => releaseNotes(changelog, "0.3.0"), /^Error: CHANGELOG.md has no section of 0.3.0$/);
});

Deno.test("billOfMaterials() lists bundled packages, and those of optional peers", () => {
  const integrity = "sha512-AAE=";
  const locks = [{
    specifiers: { "npm:a@1.0.0": "1.0.0", "npm:@s/peer@2.0.0": "2.0.0", "npm:tool@1.0.0": "1.0.0" },
    npm: {
      "a@1.0.0_b@1.1.0": { integrity, dependencies: ["b", "types@1.0.0"] },
      "b@1.1.0": { integrity },
      "@s/peer@2.0.0": { integrity, dependencies: ["needed"] },
      "needed@3.0.0": { integrity },
      "types@1.0.0": { integrity },
      "tool@1.0.0": { integrity },
    },
  }];
  const { metadata, components, dependencies } = JSON.parse(billOfMaterials(locks, {
    name: "svc-api",
    version: "0.2.0",
    bundled: new Set(["a 1.0.0", "b 1.1.0"]),
    optionalPeers: ["@s/peer", "@s/absent"],
    timestamp: "2026-11-23T00:00:00.000Z",
  }));
  deepStrictEqual(
    components.map(({ purl, scope }: Readonly<Record<string, string>>) => `${purl} ${scope}`),
    [
      "pkg:npm/%40s/peer@2.0.0 optional",
      "pkg:npm/a@1.0.0 required",
      "pkg:npm/b@1.1.0 required",
      "pkg:npm/needed@3.0.0 optional",
    ],
  );
  deepStrictEqual(components[1].hashes, [{ alg: "SHA-512", content: "0001" }]);
  deepStrictEqual(metadata.component.purl, "pkg:npm/svc-api@0.2.0");
  deepStrictEqual(dependencies.slice(0, 3), [
    { ref: "pkg:npm/svc-api@0.2.0", dependsOn: ["pkg:npm/%40s/peer@2.0.0", "pkg:npm/a@1.0.0"] },
    { ref: "pkg:npm/%40s/peer@2.0.0", dependsOn: ["pkg:npm/needed@3.0.0"] },
    { ref: "pkg:npm/a@1.0.0", dependsOn: ["pkg:npm/b@1.1.0"] },
  ]);
});

/** Installs packages that are programs, and not modules of this project. @module */
import { join } from "node:path";

/** Puts packages into `folder/node_modules`; `packages` are versions by name. */
export async function installPackages(
  folder: string,
  packages: Readonly<Record<string, string>>,
): Promise<void> {
  const manifest = JSON.stringify({ private: true, dependencies: packages });
  await Deno.writeTextFile(join(folder, "package.json"), manifest);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet", "--node-modules-dir=auto", "--no-lock"],
    cwd: folder,
  });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`installing failed: ${new TextDecoder().decode(stderr)}`);
}

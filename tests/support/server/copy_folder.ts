/** Copies folders; several times faster than a walk in JavaScript. @module */

/** Copies a folder with all that is in it to a path where nothing is yet. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const copy = new Deno.Command("cp", { args: ["-R", from, to], stdout: "null" });
  const { success, stderr } = await copy.output();
  if (!success) throw new Error(`${from} was not copied: ${new TextDecoder().decode(stderr)}`);
}

/** Writes the results of servers into `docs/reference/conformance.md`. @module */
import { readDifferences, readTable } from "./table.ts";

const file = new URL("../../docs/reference/conformance.md", import.meta.url);
const section = /(<!-- conformance: [^\n]*-->\n)[^]*?(<!-- end -->)/;

/** The servers of the page, by the names of their lists. */
const servers = {
  "svc-pgrst": "svc, dialect `pgrst`",
  svc: "svc, dialect `svc`",
  "postgrest-12.0.2": "PostgREST 12.0.2",
} as const;

/** Returns the page as it should be: cases by area that pass, and a reason for each that fails. */
export async function writtenPage(): Promise<string> {
  const cases = await readTable();
  const lists = await Promise.all(
    Object.entries(servers).map(async ([name, title]) => {
      const differences = await readDifferences(name);
      return { title, differences, labels: new Set(differences.flatMap(({ labels }) => labels)) };
    }),
  );
  const areas = [...Object.entries(Object.groupBy(cases, ({ area }) => area)), ["all", cases]];
  const rows = (areas as [string, typeof cases][]).map(([area, some]) => [
    area,
    some.length,
    ...lists.map(({ labels }) => some.filter(({ label }) => !labels.has(label)).length),
  ]);
  const head = ["area", "cases", ...lists.map(({ title }) => title)];
  const table = [head, head.map((_, at) => at === 0 ? "---" : "---:"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const reasons = lists.map(({ title, differences }) =>
    `### ${title}\n\n` +
    differences.map(({ reason, labels }) => `- ${reason} Cases: ${labels.length}.`).join("\n")
  );
  const page = await Deno.readTextFile(file);
  return page.replace(
    section,
    (_, start, end) => [start, table, ...reasons, end].join("\n\n").replace("\n\n\n", "\n\n"),
  );
}

/** Writes the page. */
export async function writeSection(): Promise<void> {
  await Deno.writeTextFile(file, await writtenPage());
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", file.pathname] }).output();
}

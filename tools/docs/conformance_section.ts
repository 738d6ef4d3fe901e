/** The results of servers in the conformance table, in Markdown. @module */
import { readDifferences, readTable } from "../../tests/conformance/table.ts";
import { markdownTable } from "../benchmark/table.ts";

/** The servers of the page, by the names of their lists. */
const servers = {
  "svc-pgrst": "svc, dialect `pgrst`",
  svc: "svc, dialect `svc`",
  "postgrest-12.0.2": "PostgREST 12.0.2",
} as const;

/** Returns the cases by area that pass, and a reason for each that fails. */
export async function conformanceSection(): Promise<string> {
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
    String(some.length),
    ...lists.map(({ labels }) => String(some.filter(({ label }) => !labels.has(label)).length)),
  ]);
  const table = markdownTable(["area", "cases", ...lists.map(({ title }) => title)], rows);
  const reasons = lists.map(({ title, differences }) =>
    `### ${title}\n\n` +
    differences.map(({ reason, labels }) => `- ${reason} Cases: ${labels.length}.`).join("\n")
  );
  return [table, ...reasons].join("\n\n");
}

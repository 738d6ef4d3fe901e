/**
 * Writes the reports of a full run into README.md.
 *
 * @module
 */
import type { FaultReport } from "./report.ts";

const file = new URL("../../../README.md", import.meta.url);

const section = /(<!-- faults: [^\n]*-->\n)[^]*?(<!-- end -->)/;

/** Replaces the table of README.md. */
export async function writeTable(reports: readonly FaultReport[]): Promise<void> {
  const text = await Deno.readTextFile(file);
  if (!section.test(text)) throw new Error("README.md has no section faults");
  const table = faultTable(reports);
  await Deno.writeTextFile(
    file,
    text.replace(section, (_, start, end) => `${start}\n${table}\n\n${end}`),
  );
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", file.pathname] }).output();
}

/** One row per fault. */
export function faultTable(reports: readonly FaultReport[]): string {
  const head = [
    "fault",
    "requests",
    "answered",
    "503",
    "rows acknowledged",
    "lost",
    "doubled",
    "refused but written",
    "uncertain",
    "figures",
  ];
  return [head, head.map(() => "---"), ...reports.map(rowOf)]
    .map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rowOf({ fault, requests, writes, figures }: FaultReport): readonly string[] {
  const unavailable = Object.entries(requests.byStatus)
    .filter(([status]) => status.startsWith("503"))
    .reduce((sum, [, count]) => sum + count, 0);
  const { acknowledged = 0, lost = 0, doubled = 0, undead = 0, uncertain = 0 } = writes ?? {};
  const counts = [requests.sent, requests.answered, unavailable];
  const rows = [acknowledged, lost, doubled, undead, uncertain];
  const said = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  return [
    fault,
    ...[...counts, ...rows].map((count) => count.toLocaleString("en")),
    said.join("; "),
  ];
}

/**
 * Writes the reports of a full run into `docs/reference/faults.md`.
 *
 * @module
 */
import type { FaultReport } from "./report.ts";

const file = new URL("../../../docs/reference/faults.md", import.meta.url);

const section = /(<!-- faults: [^\n]*-->\n)[^]*?(<!-- end -->)/;

/** Replaces the generated section of the page. */
export async function writeReports(reports: readonly FaultReport[]): Promise<void> {
  const text = await Deno.readTextFile(file);
  if (!section.test(text)) throw new Error("docs/reference/faults.md has no section faults");
  const written = reports.map(reportText).join("\n");
  await Deno.writeTextFile(
    file,
    text.replace(section, (_, start, end) => `${start}\n${written}\n${end}`),
  );
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", file.pathname] }).output();
}

/** Returns a subsection for one fault. */
export function reportText({ fault, requests, writes, figures }: FaultReport): string {
  const unavailable = Object.entries(requests.byStatus)
    .filter(([status]) => status.startsWith("503"))
    .reduce((sum, [, count]) => sum + count, 0);
  const { acknowledged = 0, lost = 0, doubled = 0, undead = 0, uncertain = 0 } = writes ?? {};
  const measured = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  return [
    `### ${fault.charAt(0).toUpperCase()}${fault.slice(1)}`,
    "",
    `- Requests: ${counted({ sent: requests.sent, answered: requests.answered })}; ` +
    `with 503: ${counted({ "": unavailable })}`,
    `- Rows: ${counted({ acknowledged, lost, doubled })}, ` +
    counted({ "refused but written": undead, uncertain }),
    ...(measured.length === 0 ? [] : [`- Figures: ${measured.join("; ")}`]),
    "",
  ].join("\n");
}

function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString("en")} ${name}`.trim())
    .join(", ");
}

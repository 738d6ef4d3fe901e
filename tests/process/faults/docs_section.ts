/** Writes the reports of a full run into `docs/reference/faults.md`. @module */
import type { FaultReport } from "./report.ts";

const file = new URL("../../../docs/reference/faults.md", import.meta.url);

const section = /(<!-- faults: [^\n]*-->\n)([^]*?)(<!-- end -->)/;

/** Writes reports into the generated section of the page. Keeps others unless all faults were run. */
export async function writeReports(
  reports: readonly FaultReport[],
  { areAll }: { readonly areAll: boolean },
): Promise<void> {
  const text = await Deno.readTextFile(file);
  const [whole, start, earlier, end] = section.exec(text) ?? [];
  if (whole === undefined) throw new Error("docs/reference/faults.md has no section faults");
  const merged = mergeReports(areAll ? "" : earlier!, reports.map(reportText));
  await Deno.writeTextFile(file, text.replace(whole, () => `${start}\n${merged}\n${end}`));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", file.pathname] }).output();
}

/** Replaces the subsections that have the heading of a new one, and adds the others at the end. */
function mergeReports(earlier: string, subsections: readonly string[]): string {
  const byHeading = new Map(
    [...earlier.trim().split(/\n(?=### )/), ...subsections]
      .filter((text) => text !== "")
      .map((text) => [text.split("\n")[0], text.trim()]),
  );
  return `${[...byHeading.values()].join("\n\n")}\n`;
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

/**
 * Writes the generated tables of README.md; with `--check`, says whether they are up to date.
 *
 * @module
 */
import { markdownTable } from "../../src/config/print.ts";
import { svcDialect } from "../../src/dialect.ts";
import { errors } from "../../src/errors/catalogue.ts";
import { statusBySqlstate } from "../../src/errors/sqlstate.ts";

const file = new URL("../../README.md", import.meta.url);

const sections: Readonly<Record<string, () => string>> = {
  options: markdownTable,
  errors: errorTable,
  sqlstates: sqlstateTable,
};

/** Returns README's text with its generated sections renewed. */
export function renewed(text: string): string {
  return Object.entries(sections).reduce((result, [name, write]) => {
    const section = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[^]*?(<!-- end -->)`);
    if (!section.test(result)) throw new Error(`README.md has no section ${name}`);
    return result.replace(section, (_, start, end) => `${start}\n${write().trim()}\n\n${end}`);
  }, text);
}

function errorTable(): string {
  const rows = Object.values(errors).map(({ code, status, when }) =>
    `| \`${svcDialect.errorPrefix}${code}\` | ${status} | ${when} |`
  );
  return ["| code | status | when |", "| --- | --- | --- |", ...rows].join("\n");
}

function sqlstateTable(): string {
  const rows = statusBySqlstate.map(([prefix, status]) =>
    `| \`${prefix}${prefix.length < 5 ? "*" : ""}\` | ${status} |`
  );
  const own = [
    "| `42501` | 403 with a role of its own, 401 as the anonymous role |",
    "| `PTnnn` | nnn |",
  ];
  return ["| SQLSTATE | status |", "| --- | --- |", ...own, ...rows].join("\n");
}

if (import.meta.main) {
  await Deno.writeTextFile(file, renewed(await Deno.readTextFile(file)));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", "README.md"] }).output();
}

/** The rule that text becomes SQL in few modules: the ones that compose statements, and the ones that
 * read the system catalogues. @module */
import { visitImports } from "./imports.ts";
import { importedPath, projectPath } from "./project_path.ts";

const fragment = "src/base/sql/fragment.ts";

/** Exports of the fragment module that turn a string into SQL. */
const raw: ReadonlySet<string> = new Set(["catalogueSql", "literal"]);

const allowed = [
  "src/api/query/",
  "src/api/transaction/",
  "src/state/schema_cache/",
  "src/base/sql/",
  "src/wings/audit/diagnosis/measure.ts",
  "src/wings/audit/isolation/worlds.ts",
  "src/wings/audit/policy_test/generate.ts",
  "src/wings/audit/why/row_results.ts",
  "src/wings/audit/init/init_sql.ts",
  "src/process/cli/sql_meta.ts",
  "tests/",
];

export const sqlText: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (allowed.some((folder) => path.startsWith(folder))) return {};
    return visitImports(({ node, specifier }) => {
      if (importedPath(path, specifier) !== fragment) return;
      for (const name of importedNames(node)) {
        if (name !== null && !raw.has(name)) continue;
        const message = `${name ?? "all of sql/fragment.ts"} is for query/ and schema_cache/ alone`;
        context.report({ node, message });
      }
    });
  },
};

/** Returns the names that a node imports; `null` if it imports all. */
function importedNames(node: Deno.lint.Node): readonly (string | null)[] {
  if (node.type === "ImportDeclaration") {
    return node.specifiers.map((each) =>
      each.type === "ImportSpecifier" ? nameOf(each.imported) : null
    );
  }
  if (node.type === "ExportNamedDeclaration") {
    return node.specifiers.map((each) => nameOf(each.local as Deno.lint.Identifier));
  }
  return [null];
}

function nameOf(node: Deno.lint.Identifier | Deno.lint.StringLiteral): string {
  return node.type === "Identifier" ? node.name : node.value;
}

/// <reference lib="dom" />
/** Search over relations, functions and pages. @module */
import { useState } from "preact/hooks";
import { Combobox } from "./combobox.ts";
import { functionLinks, type PageLink, pageLinks, relationLinks } from "./links.ts";
import { relationOf, schemaName } from "./model.ts";
import { emptyTableQuery, formatQuery } from "./filters.ts";
import { labelColumn } from "./labels.ts";
import { navigate, route } from "./route.ts";
import { Dialog, html, Icon, type View } from "./view.ts";

const maxHits = 12;

export function Search({ onClose }: { readonly onClose: () => void }): View {
  const [text, setText] = useState("");
  const schema = schemaName.value;
  const words = text.toLowerCase().split(/\s+/);
  const pages = [...relationLinks(schema), ...functionLinks(schema), ...pageLinks(schema)]
    .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    .slice(0, maxHits);
  const hits = [...pages, ...text === "" ? [] : rowLinks(text)];
  const options = hits.map(({ icon, label }) =>
    html`<${Icon} name=${icon} /><span>${label}</span>`
  );
  return html`
    <${Dialog} title="Search" onClose=${onClose} kind="search">
      <${Combobox} id="hit" label="Table, function or page" placeholder="Table, function or page"
        ...${{ text, options }} isAlwaysOpen=${true} autofocus=${true} onText=${setText}
        onChoose=${(index: number) => {
          onClose();
          navigate(hits[index]!.to);
        }} />
      <p role="status" class="hint">${hits.length === 0 ? "Nothing found" : ""}</p>
      <//>
  `;
}

/** Returns the link to the rows of the page's table whose label contains a text. */
function rowLinks(text: string): readonly PageLink[] {
  const { page, schema, name } = route.value;
  const relation = page === "table" ? relationOf(schema, name) : null;
  const column = relation === null ? null : labelColumn(relation);
  if (column === null) return [];
  const filters = [{ column, path: "", operator: "contains", value: text }] as const;
  const query = formatQuery({ ...emptyTableQuery, filters });
  const label = `${column} contains “${text}”`;
  return [{ icon: "filter", label, to: { page, schema, name, query } }];
}

/// <reference lib="dom" />
/** Search over relations, functions and pages. @module */
import { useState } from "preact/hooks";
import { Combobox } from "./combobox.ts";
import { functionsOf, relationsOf, schemaName } from "./model.ts";
import { navigate, type PageRoute } from "./route.ts";
import { Dialog, html, Icon, type IconName, type View } from "./view.ts";

interface Hit {
  readonly icon: IconName;
  readonly label: string;
  readonly to: PageRoute;
}

const maxHits = 12;

/** The dialog of the search. */
export function Search({ onClose }: { readonly onClose: () => void }): View {
  const [text, setText] = useState("");
  const hits = find(text).slice(0, maxHits);
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

function find(text: string): readonly Hit[] {
  const schema = schemaName.value;
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const fits = ({ label }: Hit) => words.every((word) => label.toLowerCase().includes(word));
  const names = [...new Set(functionsOf(schema).map(({ name }) => name))];
  const hits: readonly Hit[] = [
    ...relationsOf(schema).map(({ name, isView }): Hit => ({
      icon: isView ? "view" : "table",
      label: name,
      to: { page: "table", schema, name, view: "rows", query: "" },
    })),
    ...names.map((name): Hit => ({
      icon: "function",
      label: name,
      to: { page: "function", schema, name, query: "" },
    })),
    { icon: "diagram", label: "Diagram", to: { page: "diagram", schema, name: null } },
    { icon: "book", label: "Reference", to: { page: "reference", schema, name: null } },
    { icon: "pulse", label: "Requests", to: { page: "requests" } },
    { icon: "heart", label: "Health", to: { page: "health" } },
  ];
  return hits.filter(fits);
}

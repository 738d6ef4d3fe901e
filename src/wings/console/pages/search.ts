/// <reference lib="dom" />
/** Search over relations, functions and pages. @module */
import { useState } from "preact/hooks";
import { Combobox } from "./combobox.ts";
import { functionLinks, pageLinks, relationLinks } from "./links.ts";
import { schemaName } from "./model.ts";
import { navigate } from "./route.ts";
import { Dialog, html, Icon, type View } from "./view.ts";

const maxHits = 12;

export function Search({ onClose }: { readonly onClose: () => void }): View {
  const [text, setText] = useState("");
  const schema = schemaName.value;
  const words = text.toLowerCase().split(/\s+/);
  const hits = [...relationLinks(schema), ...functionLinks(schema), ...pageLinks(schema)]
    .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    .slice(0, maxHits);
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

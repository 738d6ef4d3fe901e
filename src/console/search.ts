/// <reference lib="dom" />
/**
 * Search over relations, functions and pages.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { functionsOf, relationsOf, schemaName } from "./model.ts";
import { navigate, type PageRoute } from "./route.ts";
import { Dialog, html, Icon, type IconName, type View } from "./view.ts";

export const searchOpen = signal(false);

interface Hit {
  readonly icon: IconName;
  readonly label: string;
  readonly to: PageRoute;
}

const maxHits = 12;

/** The dialog of the search. */
export function Search(): View {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const hits = find(text).slice(0, maxHits);
  const close = () => searchOpen.value = false;
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    close();
    navigate(hit.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((chosen + step + hits.length) % Math.max(1, hits.length));
    } else if (event.key === "Enter") open(hits[chosen]);
  };
  return html`
    <${Dialog} title="Search" onClose=${close} kind="search">
      <input type="search" role="combobox" aria-label="Table, function or page" autofocus
        aria-expanded="true" aria-controls="hits" aria-activedescendant=${`hit-${chosen}`}
        placeholder="Table, function or page" value=${text} onKeyDown=${onKeyDown}
        onInput=${(event: Event) => {
          setText((event.target as HTMLInputElement).value);
          setChosen(0);
        }} />
      <ul id="hits" role="listbox" aria-label="Results" class="hits">
        ${hits.map((hit, index) =>
          html`
            <li key=${hit.label + hit.icon} id=${`hit-${index}`} role="option"
              aria-selected=${String(index === chosen)} onClick=${() => open(hit)}>
                        <${Icon} name=${hit.icon} /><span>${hit.label}</span>
                      </li>
          `
        )}
      </ul>
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

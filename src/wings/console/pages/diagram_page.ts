/// <reference lib="dom" />
/** The diagram of a schema: its tables, and the foreign keys between them. @module */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../server/console_schema.ts";
import { DiagramCanvas } from "./diagram_canvas.ts";
import { Combobox } from "./combobox.ts";
import { type DiagramLayout, layoutDiagram, neighbourhood } from "./diagram_layout.ts";
import { relationshipsOf, relationsOf } from "./model.ts";
import { navigate, route } from "./route.ts";
import { emptyPage, html, type View } from "./view.ts";

/** Maximum number of tables that are shown initially. */
const maxWhole = 40;

/** The diagram, with controls for its extent. */
export function DiagramPage(): View {
  const current = route.value;
  const [hasViews, setViews] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const [text, setText] = useState("");
  const [found, setFound] = useState<string | null>(null);
  const all = relationsOf(current.schema);
  const relations = all.filter(({ isView, name }) => hasViews || !isView || name === current.name);
  const relationships = useMemo(() => all.flatMap(relationshipsOf), [all.length]);
  const isLarge = relations.length > maxWhole && !showsAll;
  const start = busiest(relations, relationships);
  const around = current.name || (isLarge ? start : null);
  const nodes = around === null
    ? relations
    : relations.filter(({ name }) => neighbourhood(around, relationships).has(name));
  if (all.length === 0) return emptyPage("Diagram", "No tables");
  const hits = relations.filter(({ name }) => name.includes(text.toLowerCase())).slice(0, 12);
  const find = (index: number) => {
    const { name } = hits[index]!;
    setText("");
    setFound(name);
    if (around !== null) navigate({ ...current, name });
  };
  const showAll = () => {
    setShowsAll(true);
    navigate({ ...current, name: "" });
  };
  return html`
    <div class="table-page">
      <header>
        <h1>Diagram</h1>
      </header>
      <div class="row bar">
        <${Combobox} id="find-table" label="Find a table" placeholder="Find a table" text=${text}
          options=${hits.map(({ name }) => name)} onText=${setText} onChoose=${find} />
        ${around !== null && html`
          <span>Around <strong>${around}</strong></span>
          <button type="button" onClick=${showAll}>All ${relations
            .length} tables</button>
        `}
        <label class="row check"><input type="checkbox" checked=${hasViews}
          onChange=${() => setViews(!hasViews)} />Views</label>
      </div>
      <${Drawn} ...${{ relationships }} relations=${nodes} center=${found ?? around}
        start=${start} />
    </div>
  `;
}

/** Returns the relation with the most relationships. */
function busiest(
  relations: readonly ConsoleRelation[],
  relationships: readonly ConsoleRelationship[],
): string {
  const counts = Map.groupBy(relationships, ({ origin }) => origin[1]);
  const count = ({ name }: ConsoleRelation) => counts.get(name)?.length ?? 0;
  return relations.toSorted((a, b) => count(b) - count(a))[0]?.name ?? "";
}

interface DrawnProps {
  readonly relations: readonly ConsoleRelation[];
  readonly relationships: readonly ConsoleRelationship[];
  readonly center: string | null;
  readonly start: string;
}

function Drawn({ relations, relationships, center, start }: DrawnProps): View {
  const names = relations.map(({ name }) => name).join();
  const box = useRef<HTMLDivElement>(null);
  const [layout, setLayout] = useState<DiagramLayout | null>(null);
  useEffect(() => {
    const { clientWidth, clientHeight } = box.current!;
    setLayout(layoutDiagram(relations, relationships, clientWidth / Math.max(1, clientHeight)));
  }, [names, relationships.length]);
  return html`
    <div ref=${box} class="split">${layout !== null &&
      html`<${DiagramCanvas} ...${{ layout, center, start }} />`}</div>
  `;
}

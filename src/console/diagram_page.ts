/// <reference lib="dom" />
/** The diagram of a schema: its tables, and the foreign keys between them. @module */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../admin/console_schema.ts";
import { DiagramCanvas } from "./diagram_canvas.ts";
import { Combobox } from "./combobox.ts";
import { type DiagramLayout, layoutDiagram, neighbourhood } from "./diagram_layout.ts";
import { relationshipsOf, relationsOf } from "./model.ts";
import { hrefOf, navigate, type PageRoute, route } from "./route.ts";
import { Empty, html, type View } from "./view.ts";

type DiagramRoute = Extract<PageRoute, { readonly page: "diagram" }>;

/** Most tables that the page shows at once without a click. */
const maxWhole = 40;

/** The diagram, with controls for its extent, and the same as a list. */
export function DiagramPage(): View {
  const current = route.value as DiagramRoute;
  const [steps, setSteps] = useState(1);
  const [hasViews, setViews] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const [isList, setList] = useState(false);
  const [text, setText] = useState("");
  const [found, setFound] = useState<string | null>(null);
  const all = relationsOf(current.schema);
  const relations = all.filter(({ isView, name }) => hasViews || !isView || name === current.name);
  const relationships = useMemo(() => all.flatMap(relationshipsOf), [all.length]);
  const isLarge = relations.length > maxWhole && !showsAll;
  const start = busiest(relations, relationships);
  const around = current.name ?? (isLarge ? start : null);
  const shown = around === null
    ? relations
    : relations.filter(({ name }) => neighbourhood(around, relationships, steps).has(name));
  if (all.length === 0) {
    return html`
      <div class="page">
        <h1>Diagram</h1>
        <${Empty} title="No tables" />
      </div>
    `;
  }
  const hits = relations.filter(({ name }) => name.includes(text.toLowerCase())).slice(0, 12);
  const find = (index: number) => {
    const { name } = hits[index]!;
    setText("");
    setFound(name);
    if (around !== null) navigate({ ...current, name });
  };
  const showAll = () => {
    setShowsAll(true);
    navigate({ ...current, name: null });
  };
  return html`
    <div class="diagram-page">
      <header class="table-head"><h1>Diagram</h1></header>
      <div class="toolbar">
        <${Combobox} id="find-table" label="Find a table" placeholder="Find a table" text=${text}
          options=${hits.map(({ name }) => name)} onText=${setText} onChoose=${find} />
        ${around !== null && html`
          <${Around} name=${around} ...${{ steps, setSteps }} />
          <button type="button" class="button" onClick=${showAll}>All ${relations
            .length} tables</button>
        `}
        <label class="check"><input type="checkbox" checked=${hasViews}
          onChange=${() => setViews(!hasViews)} />Views</label>
        <span class="spacer"></span>
        <button type="button" class="button is-quiet" aria-pressed=${String(isList)}
          onClick=${() => setList(!isList)}>List</button>
      </div>
      ${isList ? html`<${RelationshipList} relations=${shown} ...${{ relationships }} />` : html`
        <${Drawn} ...${{ relationships }} relations=${shown} center=${found ?? around}
          start=${start} />
      `}
    </div>
  `;
}

interface AroundProps {
  readonly name: string;
  readonly steps: number;
  readonly setSteps: (steps: number) => void;
}

function Around({ name, steps, setSteps }: AroundProps): View {
  return html`
    <span>Around <strong>${name}</strong></span>
    <label class="field-inline">Steps
      <select onChange=${(event: Event) =>
        setSteps(Number((event.target as HTMLSelectElement).value))}>
        ${[1, 2, 3].map((each) =>
          html`<option key=${each} value=${each} selected=${each === steps}>${each}</option>`
        )}
      </select></label>
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
    <div ref=${box} class="diagram-box">${layout !== null &&
      html`<${DiagramCanvas} ...${{ layout, center, start }} />`}</div>
  `;
}

function RelationshipList(
  { relations, relationships }: Omit<DrawnProps, "center" | "start">,
): View {
  return html`
    <div class="chart">
      <ul class="plain-list">${relations.map(({ schema, name, columns }) => {
        const own = relationships.filter(({ origin, isForward }) =>
          isForward && origin[1] === name
        );
        return html`
          <li
            key=${name}><a href=${hrefOf({
              page: "table",
              schema,
              name,
              view: "rows",
              query: "",
            })}>${name}</a> <span class="muted">${columns.length} columns</span>
                  ${own.length > 0 &&
                    html`<ul class="nested-list">${
                      own.map(({ hint, pairs, foreign }) =>
                        html`<li key=${hint}>${pairs.map(([from]) => from).join(", ")} refers to ${
                          foreign[1]
                        } (${pairs.map(([, to]) => to).join(", ")})</li>`
                      )
                    }</ul>`}</li>
        `;
      })}</ul>
    </div>
  `;
}

/// <reference lib="dom" />
/**
 * The diagram of a schema: its tables, and the foreign keys between them.
 *
 * @module
 */
import { useMemo, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../admin/console_data.ts";
import { DiagramCanvas } from "./diagram_canvas.ts";
import { layoutDiagram, neighbourhood } from "./diagram_layout.ts";
import { relationshipsOf, relationsOf } from "./model.ts";
import { hrefOf, navigate, type PageRoute, route } from "./route.ts";
import { Empty, html, type View } from "./view.ts";

type DiagramRoute = Extract<PageRoute, { readonly page: "diagram" }>;

/** Most tables that the page lays out at once without a click. */
const maxWhole = 80;

/** The diagram, with controls for its extent, and the same as a list. */
export function DiagramPage(): View {
  const current = route.value as DiagramRoute;
  const relations = relationsOf(current.schema);
  const [steps, setSteps] = useState(1);
  const [showsAll, setShowsAll] = useState(false);
  const [isList, setList] = useState(false);
  const relationships = useMemo(() => relations.flatMap(relationshipsOf), [relations]);
  const isLarge = relations.length > maxWhole && !showsAll;
  const center = current.name ?? (isLarge ? busiest(relations, relationships) : null);
  const shown = center === null
    ? relations
    : relations.filter(({ name }) => neighbourhood(center, relationships, steps).has(name));
  if (relations.length === 0) {
    return html`
      <div class="page">
        <${Empty} title="No tables" />
      </div>
    `;
  }
  const choose = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    navigate({ ...current, name: name === "" ? null : name });
  };
  return html`
    <div class="diagram-page">
      <header class="table-head"><h1>Diagram</h1></header>
      <div class="toolbar">
        <label class="field-inline">Around
          <select onChange=${choose}>
            <option value="" selected=${current.name === null}>${isLarge
              ? "the busiest table"
              : "all tables"}</option>
            ${relations.map(({ name }) =>
              html`<option key=${name} value=${name} selected=${
                name === current.name
              }>${name}</option>`
            )}
          </select></label>
        ${center !== null && html`
          <label class="field-inline">Steps
            <select onChange=${(event: Event) =>
              setSteps(Number((event.target as HTMLSelectElement).value))}>
              ${[1, 2, 3].map((each) =>
                html`<option key=${each} value=${each} selected=${each === steps}>${each}</option>`
              )}
            </select></label>
        `}
        ${isLarge && html`<button type="button" class="button" onClick=${() => setShowsAll(true)}>
          All ${relations.length} tables (takes a while)</button>`}
        <span class="spacer"></span>
        <button type="button" class="button is-quiet" aria-pressed=${String(isList)}
          onClick=${() => setList(!isList)}>List</button>
      </div>
      ${isList
        ? html`<${RelationshipList} relations=${shown} ...${{ relationships }} />`
        : html`<${Drawn} key=${shown.length} ...${{ relationships, center }} relations=${shown} />`}
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
  return relations.toSorted((a, b) => count(b) - count(a))[0]!.name;
}

interface DrawnProps {
  readonly relations: readonly ConsoleRelation[];
  readonly relationships: readonly ConsoleRelationship[];
  readonly center: string | null;
}

function Drawn({ relations, relationships, center }: DrawnProps): View {
  const names = relations.map(({ name }) => name).join();
  const layout = useMemo(() => layoutDiagram(relations, relationships), [
    names,
    relationships.length,
  ]);
  return html`<${DiagramCanvas} key=${names} ...${{ layout, center }} />`;
}

function RelationshipList({ relations, relationships }: Omit<DrawnProps, "center">): View {
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

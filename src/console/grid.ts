/// <reference lib="dom" />
/** The grid of rows, which the keyboard can walk (ARIA Authoring Practices, "Grid"). @module */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type {
  ConsoleColumn,
  ConsoleRelation,
  ConsoleRelationship,
} from "../admin/console_schema.ts";
import { cellText } from "./cells.ts";
import type { GridRow } from "./edit.ts";
import { type SortTerm, typeKind } from "./filters.ts";
import { foreignLinks, type Labels, type RowLink } from "./labels.ts";
import { relationshipsOf } from "./model.ts";
import { html, Icon, type View } from "./view.ts";

interface GridProps {
  readonly relation: ConsoleRelation | null;
  readonly rows: readonly GridRow[];
  readonly columns: readonly string[];
  readonly order: readonly SortTerm[];
  /** Labels of referenced rows. Default: none. */
  readonly labels?: Labels;
  readonly label: string;
  /** Sorts by a column; `adds` keeps the other columns. Absent where rows cannot be sorted. */
  readonly onSort?: (column: string, options: { readonly adds: boolean }) => void;
  /** Opens a row. Absent where rows have no panel. */
  readonly onOpen?: (row: GridRow) => void;
  /** Changes a value. Absent where the role may not. */
  readonly onEdit?: (row: GridRow, column: ConsoleColumn, anchor: DOMRect) => void;
}

/** Row and column of the cell with the focus. The header is row -1, the buttons of rows column -1. */
interface CellPlace {
  readonly row: number;
  readonly column: number;
}

/** A table of rows. One cell is in the order of Tab; the arrow keys move to the others. */
export function Grid(props: GridProps): View {
  const { rows, columns, relation, label, onOpen, onEdit } = props;
  const [place, setPlace] = useState<CellPlace>({ row: onOpen ? 0 : -1, column: onOpen ? -1 : 0 });
  const table = useRef<HTMLTableElement>(null);
  const first = onOpen === undefined ? 0 : -1;
  useEffect(() => {
    const last = Math.min(place.row, rows.length - 1);
    if (last !== place.row) setPlace({ ...place, row: last });
  }, [rows]);
  const move = (next: CellPlace) => {
    setPlace(next);
    const cell = table.current!.querySelector<HTMLElement>(
      `[data-place="${next.row},${next.column}"]`,
    );
    (cell?.querySelector<HTMLElement>("button:not(.pencil)") ?? cell)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextPlace(place, event, { first, rows: rows.length, columns: columns.length });
    if (next !== null) {
      event.preventDefault();
      move(next);
    }
  };
  const described = useMemo(
    () => columns.map((name) => relation?.columns.find((each) => each.name === name) ?? null),
    [columns, relation],
  );
  const relationships = useMemo(() => relation === null ? [] : relationshipsOf(relation), [
    relation,
  ]);
  const actions = useRef<GridActions>({ setPlace, onOpen, onEdit });
  actions.current = { setPlace, onOpen, onEdit };
  const [hasPanel, isReadonly] = [onOpen !== undefined, onEdit === undefined];
  return html`
    <div class="grid-scroll">
      <table ref=${table} class="grid" role="grid" aria-label=${label} onKeyDown=${onKeyDown}
        aria-rowcount=${rows.length + 1} aria-readonly=${String(onEdit === undefined)}>
        ${gridHead(props, { described, place, setPlace })}
        <tbody role="rowgroup">
          ${rows.map((row, number) =>
            html`
              <${GridLine} key=${number} ...${{
                row,
                number,
                columns,
                described,
                relationships,
                labels: props.labels,
                actions,
              }}
                ...${{ hasPanel, isReadonly }}
                activeColumn=${place.row === number ? place.column : null} />
            `
          )}
        </tbody>
      </table>
    </div>
  `;
}

function gridHead(
  { columns, relation, order, onSort, onOpen }: GridProps,
  { described, place, setPlace }: {
    readonly described: readonly (ConsoleColumn | null)[];
    readonly place: CellPlace;
    readonly setPlace: (place: CellPlace) => void;
  },
): View {
  return html`
    <thead role="rowgroup">
      <tr role="row">
        ${onOpen &&
          html`<th role="columnheader" class="row-head"><span class="sr-only">Row</span></th>`}
        ${columns.map((name, index) =>
          html`
            <${HeaderCell} key=${name} ...${{ name, column: described[index], relation, order }}
              onSort=${onSort} place=${`-1,${index}`}
              isActive=${place.row === -1 && place.column === index}
              onFocus=${() => setPlace({ row: -1, column: index })} />
          `
        )}
      </tr>
    </thead>
  `;
}

/** Returns the place that a key moves to; null for other keys. */
function nextPlace(
  { row, column }: CellPlace,
  event: KeyboardEvent,
  { first, rows, columns }: {
    readonly first: number;
    readonly rows: number;
    readonly columns: number;
  },
): CellPlace | null {
  const [lastRow, lastColumn] = [rows - 1, columns - 1];
  const at = (nextRow: number, nextColumn: number): CellPlace => {
    const boundedRow = Math.max(-1, Math.min(lastRow, nextRow));
    const least = boundedRow === -1 ? 0 : first;
    return { row: boundedRow, column: Math.max(least, Math.min(lastColumn, nextColumn)) };
  };
  switch (event.key) {
    case "ArrowDown":
      return at(row + 1, column);
    case "ArrowUp":
      return at(row - 1, column);
    case "ArrowRight":
      return at(row, column + 1);
    case "ArrowLeft":
      return at(row, column - 1);
    case "PageDown":
      return at(row + 10, column);
    case "PageUp":
      return at(Math.max(0, row - 10), column);
    case "Home":
      return at(event.ctrlKey ? -1 : row, first);
    case "End":
      return at(event.ctrlKey ? lastRow : row, lastColumn);
    default:
      return null;
  }
}

interface HeaderCellProps extends Pick<GridProps, "relation" | "order" | "onSort"> {
  readonly name: string;
  readonly column: ConsoleColumn | null;
  readonly place: string;
  readonly isActive: boolean;
  readonly onFocus: () => void;
}

function HeaderCell(props: HeaderCellProps): View {
  const { name, column, relation, order, onSort, place, isActive, onFocus } = props;
  const index = order.findIndex((term) => term.column === name);
  const term = order[index];
  const sort = term === undefined ? "none" : term.descending ? "descending" : "ascending";
  const isKey = relation?.primaryKey.includes(name) ?? false;
  const about = [column?.comment, column?.default && `Default: ${column.default}`]
    .filter((text) => text).join("\n");
  const content = html`
    <span class="column-name">${isKey && html`<${Icon} name="key" />`}${name}${term !== undefined &&
      html`<span class="sort" aria-hidden="true">${term.descending ? "↓" : "↑"}${
        order.length > 1 ? index + 1 : ""
      }</span>`}</span>
    <small>${column === null ? "" : shortType(column)}</small>
  `;
  return html`
    <th role="columnheader" aria-sort=${sort} data-place=${place} title=${about || null}
      class=${column !== null && typeKind(column.baseType) === "number" ? "is-number" : ""}>
      ${onSort !== undefined && column !== null
        ? html`
          <button type="button" class="sort-button" tabindex=${isActive ? 0 : -1}
            onFocus=${onFocus} onClick=${(event: MouseEvent) =>
              onSort(name, { adds: event.shiftKey })}>${content}</button>
        `
        : html`<span class="sort-button" tabindex=${
          isActive ? 0 : -1
        } onFocus=${onFocus}>${content}</span>`}
    </th>
  `;
}

function shortType({ type }: ConsoleColumn): string {
  return type.replace("character varying", "varchar").replace(
    "timestamp with time zone",
    "timestamptz",
  )
    .replace("timestamp without time zone", "timestamp");
}

/** Functions that the cells call. The reference stays the same, so that lines are drawn only once. */
interface GridActions extends Pick<GridProps, "onOpen" | "onEdit"> {
  readonly setPlace: (place: CellPlace) => void;
}

interface GridLineProps {
  readonly row: GridRow;
  readonly number: number;
  readonly columns: readonly string[];
  /** The columns of the table; null for others. */
  readonly described: readonly (ConsoleColumn | null)[];
  readonly relationships: readonly ConsoleRelationship[];
  readonly labels: Labels | undefined;
  readonly actions: { readonly current: GridActions };
  readonly hasPanel: boolean;
  readonly isReadonly: boolean;
  /** Column of the cell with the focus; null if it is in another row. */
  readonly activeColumn: number | null;
}

/** A row of the grid. It is drawn again only if it changes, so that the focus moves at once. */
function GridLine(props: GridLineProps): View {
  const { row, columns, described, relationships, labels, hasPanel, isReadonly, activeColumn } =
    props;
  return useMemo(
    () => lineView(props),
    [row, columns, described, relationships, labels, hasPanel, isReadonly, activeColumn],
  );
}

function lineView(props: GridLineProps): View {
  const { row, number, columns, described, relationships, actions, activeColumn } = props;
  const links = foreignLinks(relationships, row);
  return html`
    <tr role="row">
      ${props.hasPanel && html`
        <td role="gridcell" class="row-head" data-place=${`${number},-1`}>
          <button type="button" class="row-button" aria-label=${`Open row ${number + 1}`}
            tabindex=${activeColumn === -1 ? 0 : -1}
            onFocus=${() => actions.current.setPlace({ row: number, column: -1 })}
            onClick=${() => actions.current.onOpen?.(row)}>${number + 1}</button></td>
      `}
      ${columns.map((name, index) => {
        const column = described[index] ?? null;
        const isEditable = !props.isReadonly && column?.generated === false;
        const activate = (target: HTMLElement) => {
          const { onOpen, onEdit } = actions.current;
          if (isEditable) onEdit?.(row, column, target.getBoundingClientRect());
          else onOpen?.(row);
        };
        return html`
          <${Cell} key=${name} ...${{ name, column, isEditable }} value=${row[name]}
            link=${links.get(name)} linkLabel=${props.labels?.get(name)?.get(String(row[name]))}
            place=${`${number},${index}`}
            isActive=${activeColumn === index} onActivate=${activate}
            onFocus=${() => actions.current.setPlace({ row: number, column: index })} />
        `;
      })}
    </tr>
  `;
}

interface CellProps {
  readonly name: string;
  readonly value: unknown;
  readonly column: ConsoleColumn | null;
  readonly link: RowLink | undefined;
  /** Label of the referenced row. */
  readonly linkLabel: string | undefined;
  readonly place: string;
  readonly isActive: boolean;
  readonly isEditable: boolean;
  readonly onFocus: () => void;
  readonly onActivate: (target: HTMLElement) => void;
}

function Cell(props: CellProps): View {
  const { name, value, column, link, linkLabel, place, isActive, isEditable } = props;
  const { onFocus, onActivate } = props;
  const cell = useRef<HTMLTableCellElement>(null);
  const kind = column === null ? "text" : typeKind(column.baseType);
  const classes = [
    ...(value === null ? ["is-null"] : []),
    ...(kind === "number" ? ["is-number"] : []),
    ...(typeof value === "object" && value !== null ? ["is-json"] : []),
  ];
  return html`
    <td ref=${cell} role="gridcell" data-place=${place} data-label=${name} class=${classes.join(
      " ",
    ) || null}
      tabindex=${isActive ? 0 : -1} aria-readonly=${isEditable ? null : "true"} onFocus=${onFocus}
      onDblClick=${(event: MouseEvent) => onActivate(event.currentTarget as HTMLElement)}
      onKeyDown=${(event: KeyboardEvent) => {
        if (event.target !== event.currentTarget) return;
        if (event.key !== "Enter" && event.key !== "F2") return;
        event.preventDefault();
        onActivate(event.currentTarget as HTMLElement);
      }}><span class="cell-text">${cellText(value, column?.baseType)}</span>${link !== undefined &&
        html`
          <a class="cell-link" href=${link.href} tabindex="-1"
            aria-label=${[`Open ${link.name} ${cellText(value)}`, linkLabel].filter((text) => text)
              .join(": ")}>${linkLabel ??
              html`<${Icon} name="link" />`}</a>
        `}${isEditable && html`
        <button type="button" class="icon-button pencil" tabindex="-1"
          aria-label=${`Change ${name}`} onClick=${() => onActivate(cell.current!)}>
                  <${Icon} name="edit" /></button>
      `}</td>
  `;
}

/// <reference lib="dom" />
/**
 * The grid of rows, which the keyboard can walk (ARIA Authoring Practices, "Grid").
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_data.ts";
import { cellText } from "./cells.ts";
import type { GridRow } from "./edit.ts";
import { type SortTerm, typeKind } from "./filters.ts";
import { foreignLinks } from "./row_panel.ts";
import { html, Icon, type View } from "./view.ts";

interface GridProps {
  readonly relation: ConsoleRelation | null;
  readonly rows: readonly GridRow[];
  readonly columns: readonly string[];
  readonly order: readonly SortTerm[];
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
    (cell?.querySelector<HTMLElement>("button") ?? cell)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextPlace(place, event, { first, rows: rows.length, columns: columns.length });
    if (next !== null) {
      event.preventDefault();
      move(next);
    }
  };
  const columnOf = (name: string) => relation?.columns.find((each) => each.name === name) ?? null;
  const isEditable = (name: string) => onEdit !== undefined && columnOf(name)?.generated === false;
  const cell = (row: GridRow, rowNumber: number, name: string, columnNumber: number) => {
    const column = columnOf(name);
    const edit = (target: HTMLElement) => {
      if (isEditable(name)) onEdit!(row, column!, target.getBoundingClientRect());
      else onOpen?.(row);
    };
    return html`
      <${Cell} key=${name} ...${{ row, name, column, relation }}
        place=${`${rowNumber},${columnNumber}`}
        isActive=${place.row === rowNumber && place.column === columnNumber}
        onFocus=${() => setPlace({ row: rowNumber, column: columnNumber })}
        onActivate=${edit} isEditable=${isEditable(name)} />
    `;
  };
  return html`
    <div class="grid-scroll">
      <table ref=${table} class="grid" role="grid" aria-label=${label} onKeyDown=${onKeyDown}
        aria-rowcount=${rows.length + 1} aria-readonly=${String(onEdit === undefined)}>
        <thead role="rowgroup">
          <tr role="row">
          ${onOpen &&
            html`<th role="columnheader" class="row-head"><span class="sr-only">Row</span></th>`}
          ${columns.map((name, index) =>
            html`
              <${HeaderCell} key=${name} ...${{ name, column: columnOf(name), relation }}
                order=${props.order} onSort=${props.onSort} place=${`-1,${index}`}
                isActive=${place.row === -1 && place.column === index}
                onFocus=${() => setPlace({ row: -1, column: index })} />
            `
          )}
        </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map((row, number) =>
            html`<tr role="row" key=${number}>
            ${
              onOpen && html`<td role="gridcell" class="row-head" data-place=${`${number},-1`}>
              <button type="button" class="row-button" aria-label=${`Open row ${number + 1}`}
                tabindex=${place.row === number && place.column === -1 ? 0 : -1}
                onFocus=${() => setPlace({ row: number, column: -1 })}
                onClick=${() => onOpen(row)}>${number + 1}</button></td>`
            }
            ${columns.map((name, index) => cell(row, number, name, index))}
          </tr>`
          )}
        </tbody>
      </table>
    </div>
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

interface CellProps {
  readonly row: GridRow;
  readonly name: string;
  readonly column: ConsoleColumn | null;
  readonly relation: ConsoleRelation | null;
  readonly place: string;
  readonly isActive: boolean;
  readonly isEditable: boolean;
  readonly onFocus: () => void;
  readonly onActivate: (target: HTMLElement) => void;
}

function Cell(props: CellProps): View {
  const { row, name, column, relation, place, isActive, isEditable, onFocus, onActivate } = props;
  const value = row[name];
  const link = relation === null ? undefined : foreignLinks(relation, row).get(name);
  const kind = column === null ? "text" : typeKind(column.baseType);
  const classes = [
    ...(value === null ? ["is-null"] : []),
    ...(kind === "number" ? ["is-number"] : []),
    ...(typeof value === "object" && value !== null ? ["is-json"] : []),
  ];
  return html`
    <td role="gridcell" data-place=${place} data-label=${name} class=${classes.join(" ") || null}
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
            aria-label=${`Open ${link.name} ${cellText(value)}`}><${Icon} name="link" /></a>
        `}</td>
  `;
}

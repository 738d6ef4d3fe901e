/// <reference lib="dom" />
/** The grid of rows, which the keyboard can walk (ARIA Authoring Practices, "Grid"). @module */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_schema.ts";
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
  readonly onEdit?: (row: GridRow, column: ConsoleColumn) => void;
}

/** A table of rows. One cell is in the order of Tab; the arrow keys move to the others. */
export function Grid(props: GridProps): View {
  const { rows, columns, relation, label, order, labels, onOpen, onEdit } = props;
  const table = useRef<HTMLTableElement>(null);
  // A drawing of many rows stays until they change, and calls the functions of the last one.
  const current = useRef(props);
  current.current = props;
  const [hasPanel, isReadonly] = [onOpen !== undefined, onEdit === undefined];
  const drawing = useMemo(() => {
    const described = columns.map((name) =>
      relation?.columns.find((each) => each.name === name) ?? null
    );
    const relationships = relation === null ? [] : relationshipsOf(relation);
    return html`
      ${gridHead(current, described)}
      <tbody role="rowgroup">
        ${rows.map((row, number) =>
          gridLine(current, number, { described, links: foreignLinks(relationships, row) })
        )}
      </tbody>
    `;
  }, [rows, columns, relation, order, labels, hasPanel, isReadonly]);
  useEffect(() => {
    const cells = table.current!;
    const first = cells.querySelector("tbody [data-place]") ?? cells.querySelector("[data-place]");
    if (cells.querySelector('[tabindex="0"]') === null && first !== null) {
      stopOf(first).tabIndex = 0;
    }
  }, [drawing]);
  return html`
    <div class="scroll">
      <table ref=${table} class="grid" role="grid" aria-label=${label} onKeyDown=${moveFocus}
        onFocusIn=${keepFocus} aria-rowcount=${rows.length + 1}
        aria-readonly=${String(isReadonly)}>${drawing}</table>
    </div>
  `;
}

/** Returns the element of a cell that takes the focus. */
function stopOf(cell: Element): HTMLElement {
  return cell.querySelector<HTMLElement>(".row-button, .sort-button") ?? cell as HTMLElement;
}

/** Puts the cell with the focus in the order of Tab in place of another one. */
function keepFocus({ currentTarget, target }: FocusEvent): void {
  const cell = (target as Element).closest("[data-place]");
  if (cell === null) return;
  (currentTarget as Element).querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  stopOf(cell).tabIndex = 0;
}

/** Moves the focus by a key. */
function moveFocus(event: KeyboardEvent): void {
  const table = event.currentTarget as HTMLTableElement;
  const place = (event.target as Element).closest<HTMLElement>("[data-place]")?.dataset.place;
  if (place === undefined) return;
  const [row, column] = place.split(",").map(Number);
  const next = nextPlace({ row: row!, column: column! }, event, {
    first: table.querySelector(".row-button") === null ? 0 : -1,
    rows: table.tBodies[0]!.rows.length,
    columns: table.tHead!.querySelectorAll("[data-place]").length,
  });
  if (next === null) return;
  event.preventDefault();
  const cell = table.querySelector(`[data-place="${next.row},${next.column}"]`);
  if (cell !== null) stopOf(cell).focus();
}

/** Row and column of a cell. The header is row -1, the buttons of rows column -1. */
interface CellPlace {
  readonly row: number;
  readonly column: number;
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

/** The properties of the last drawing. */
interface CurrentProps {
  readonly current: GridProps;
}

function gridHead(props: CurrentProps, described: readonly (ConsoleColumn | null)[]): View {
  const { columns, onOpen } = props.current;
  return html`
    <thead role="rowgroup">
      <tr role="row">
        ${onOpen &&
          html`<th role="columnheader" class="row-head"><span class="sr-only">Row</span></th>`}
        ${columns.map((name, index) =>
          headerCell(props, { name, index, column: described[index]! })
        )}
      </tr>
    </thead>
  `;
}

interface ColumnPlace {
  readonly name: string;
  readonly index: number;
  readonly column: ConsoleColumn | null;
}

function headerCell(props: CurrentProps, { name, index, column }: ColumnPlace): View {
  const { relation, order, onSort } = props.current;
  const place = order.findIndex((term) => term.column === name);
  const term = order[place];
  const sort = term === undefined ? "none" : term.descending ? "descending" : "ascending";
  const isKey = relation?.primaryKey.includes(name) ?? false;
  const about = [column?.comment, column?.default && `Default: ${column.default}`]
    .filter((text) => text).join("\n");
  const content = html`
    <span class="row line">${isKey && html`<${Icon} name="key" />`}${name}${term !== undefined &&
      html`<span class="accent" aria-hidden="true">${term.descending ? "↓" : "↑"}${
        order.length > 1 ? place + 1 : ""
      }</span>`}</span>
    <small>${column === null ? "" : shortType(column)}</small>
  `;
  const choose = (event: MouseEvent) => props.current.onSort?.(name, { adds: event.shiftKey });
  return html`
    <th key=${name} role="columnheader" aria-sort=${sort} data-place=${`-1,${index}`}
      title=${about || null}
      class=${column !== null && typeKind(column.baseType) === "number" ? "is-number" : ""}>
      ${onSort !== undefined && column !== null
        ? html`<button type="button" class="sort-button" tabindex="-1" onClick=${choose}>${content}</button>`
        : html`<span class="sort-button" tabindex="-1">${content}</span>`}
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

function gridLine(
  props: CurrentProps,
  number: number,
  { described, links }: {
    readonly described: readonly (ConsoleColumn | null)[];
    readonly links: ReturnType<typeof foreignLinks>;
  },
): View {
  const { rows, columns, onOpen } = props.current;
  const row = rows[number]!;
  return html`
    <tr key=${number} role="row">
      ${onOpen && html`
        <td role="gridcell" class="row-head" data-label="Row" data-place=${`${number},-1`}>
          <button type="button" class="row-button" aria-label=${`Open row ${number + 1}`}
            tabindex="-1" onClick=${() => props.current.onOpen?.(row)}>${number + 1}</button></td>
      `}
      ${columns.map((name, index) =>
        gridCell(props, {
          name,
          index,
          column: described[index]!,
          row,
          number,
          link: links.get(name),
        })
      )}
    </tr>
  `;
}

interface CellParts extends ColumnPlace {
  readonly row: GridRow;
  readonly number: number;
  readonly link: RowLink | undefined;
}

function gridCell(
  props: CurrentProps,
  { name, index, column, row, number, link }: CellParts,
): View {
  const value = row[name];
  const { labels, onEdit } = props.current;
  const linkLabel = labels?.get(name)?.get(String(value));
  const isEditable = onEdit !== undefined && column?.generated === false;
  const kind = column === null ? "text" : typeKind(column.baseType);
  const ofValue = value === null ? "muted" : typeof value === "object" ? "mono" : "";
  const activate = () => {
    if (isEditable) props.current.onEdit?.(row, column);
    else props.current.onOpen?.(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || !/^(?:Enter|F2)$/.test(event.key)) return;
    event.preventDefault();
    activate();
  };
  return html`
    <td key=${name} role="gridcell" data-place=${`${number},${index}`} data-label=${name}
      class=${`${ofValue} ${
        kind === "number" ? "is-number" : ""
      }`} tabindex="-1" aria-readonly=${isEditable ? null : "true"}
      onDblClick=${activate}
      onKeyDown=${onKeyDown}><span class="cell-text">${cellText(
        value,
        column?.baseType,
      )}</span>${link !== undefined && html`
        <a class="cell-link" href=${link.href} tabindex="-1" aria-label=${[
          `Open ${link.name} ${cellText(value)}`,
          linkLabel,
        ].filter((text) => text).join(": ")}>${linkLabel ?? html`<${Icon} name="link" />`}</a>
      `}${isEditable && html`
        <button type="button" class="icon-button pencil" tabindex="-1"
          aria-label=${`Change ${name}`} onClick=${activate}><${Icon} name="edit" /></button>
      `}</td>
  `;
}

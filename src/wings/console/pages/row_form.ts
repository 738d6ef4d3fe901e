/// <reference lib="dom" />
/** The form to insert or change a row, or one of its values. It shows the exact request. @module */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../server/console_schema.ts";
import { type ApiError, callApi, errorOf, rowsOf } from "./api.ts";
import type { ApiCall } from "./code.ts";
import { formText, type GridRow, keyQuery, problemOf, valueOf, writeCall } from "./edit.ts";
import { CallPreview } from "./call_preview.ts";
import { ErrorBox } from "./exchange.ts";
import { type Reference, referencesOf } from "./labels.ts";
import { guarded, profileHeader, readCall, serviceState } from "./model.ts";
import { ValueInput } from "./value_input.ts";
import { Dialog, html, type View } from "./view.ts";

export interface RowFormTarget {
  readonly relation: ConsoleRelation;
  /** Null to insert a row. */
  readonly row: GridRow | null;
  /** The single column of the form. Default: all writable columns. */
  readonly only?: ConsoleColumn;
}

interface RowFormProps extends RowFormTarget {
  readonly onClose: () => void;
  readonly onSaved: OnSaved;
}

/** Receives the rows that were written, at least one. */
type OnSaved = (rows: readonly GridRow[]) => void;

/** Texts of fields by column; null means NULL. Other columns keep their value or get their default. */
type FormValues = Readonly<Record<string, string | null>>;

/** Has no prototype, because a column may be named `constructor`. */
const noValues: FormValues = Object.create(null);

/** The form. In a new row, required columns come first. */
export function RowForm({ relation, row, only, onClose, onSaved }: RowFormProps): View {
  const [values, setValues] = useState<FormValues>(noValues);
  const [file, setFile] = useState<string | null>(null);
  const [isSubmitted, setSubmitted] = useState(false);
  const current = useRowTag(relation, row);
  const { error, isBusy, send } = useSending(onSaved);
  const columns = only === undefined ? formColumns(relation, row) : [only];
  const currentRow = current.row ?? row;
  const references = useMemo(() => referencesOf(relation), [relation]);
  const [changes, problems] = rowOfForm(columns, values, row === null);
  const profile = profileHeader(relation.schema, "PATCH");
  const rowCall = writeCall(relation, { row, changes, profile, tag: current.tag });
  const call = file === null ? rowCall : fileCall(rowCall, file);
  const isUnchanged = row !== null && Object.keys(values).length === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    if (file !== null) return void send(call);
    setSubmitted(true);
    document.getElementById(`field-${Array.from(problems.keys())[0]}`)?.focus();
    if (problems.size === 0 && current.isKnown && !isUnchanged) void send(call);
  };
  const isStale = current.row !== null &&
    columns.some(({ name }) => formText(current.row![name]) !== formText(row?.[name]));
  const title = row === null
    ? `Insert into ${relation.name}`
    : `Change ${only?.name ?? relation.name}`;
  return html`
    <${Dialog} ...${{ title, onClose }} kind=${only === undefined ? "drawer" : ""}>
      <form class="stack" onSubmit=${submit}>
        ${row === null && html`<${FileInput} onFile=${setFile} />`}
        ${file === null && columns.map((column) =>
          html`
            <${Field} key=${column.name} ...${{ column }} isNew=${row === null}
              reference=${references.find((each) => each.column === column.name)}
              problem=${isSubmitted || values[column.name] !== undefined
                ? problems.get(column.name) ?? null
                : null}
              isFirst=${column === columns[0]} text=${fieldText(column.name, values, currentRow)}
              onText=${(text: string | null) =>
                setValues(Object.assign(Object.create(null), values, { [column.name]: text }))} />
          `
        )}
        ${isStale &&
          html`<p class="hint" role="status">The row has changed since the page was loaded.
          These are its values now.</p>`}
        <${CallPreview} call=${call} />
        ${error !== null && html`<${ErrorBox} error=${error} call=${call} />`}
        <div class="row actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button is-primary" disabled=${isBusy || isUnchanged ||
            !current.isKnown}>${row === null ? "Insert" : "Save"}</button>
        </div>
      </form>
      <//>
  `;
}

/** Takes the text of a CSV file; null if the choice is cancelled. */
function FileInput({ onFile }: { readonly onFile: (text: string | null) => void }): View {
  const read = async ({ target }: Event) => {
    const [file] = (target as HTMLInputElement).files!;
    onFile(await file?.text() ?? null);
  };
  return html`
    <label class="field">Rows of a CSV file, instead of one row
      <input type="file" accept=".csv,text/csv" onChange=${read} /></label>
  `;
}

/** Returns the request that inserts the rows of a CSV file, all or none. */
function fileCall(call: ApiCall, text: string): ApiCall {
  const headers = [["Content-Type", "text/csv"], ...call.headers.slice(1)] as const;
  return { ...call, headers, body: text };
}

/** Returns the text of a field, as entered or from the row; null for NULL. */
function fieldText(name: string, values: FormValues, row: GridRow | null): string | null {
  const entered = values[name];
  if (entered !== undefined) return entered;
  if (row === null) return "";
  return row[name] === null ? null : formText(row[name]);
}

interface FieldProps {
  readonly column: ConsoleColumn;
  readonly text: string | null;
  readonly isNew: boolean;
  readonly isFirst: boolean;
  readonly reference: Reference | undefined;
  /** Reason why the column rejects the text; null if it might accept it. */
  readonly problem: string | null;
  readonly onText: (text: string | null) => void;
}

function Field(props: FieldProps): View {
  const { column, text, isNew, isFirst, reference, problem, onText } = props;
  const { name, type, comment, nullable } = column;
  const toggleNull = (event: Event) =>
    onText((event.target as HTMLInputElement).checked ? null : "");
  return html`
    <div class="field">
      <label class="row" for=${`field-${name}`}>${name}${isNew && isRequired(column) &&
        html`<span class="bad"> required</span>`}<small>${type}</small></label>
      <div class="row line">
        <${ValueInput} id=${`field-${name}`} ...${{ column, reference }} value=${text ?? ""}
          aria-invalid=${problem === null ? null : "true"}
          autofocus=${isFirst} onValue=${onText}
          placeholder=${isNew ? placeholderOf(column) : text === null ? "null" : ""} />
        ${nullable && !isNew && html`<label class="row check"><input type="checkbox"
          checked=${text === null} onChange=${toggleNull} />null</label>`}
      </div>
      ${problem !== null && html`<p class="bad" role="alert">${name}: ${problem}</p>`}
      ${comment !== null && html`<p class="hint">${comment}</p>`}
    </div>
  `;
}

function formColumns({ columns }: ConsoleRelation, row: GridRow | null): readonly ConsoleColumn[] {
  const written = columns.filter(({ generated }) => !generated);
  if (row !== null) return written.filter(({ name }) => row[name] !== undefined);
  return written.toSorted((a, b) => Number(isRequired(b)) - Number(isRequired(a)));
}

function isRequired(column: ConsoleColumn): boolean {
  return !column.nullable && column.default === null;
}

function placeholderOf({ default: fallback, nullable }: ConsoleColumn): string {
  return fallback !== null ? `default ${fallback}` : nullable ? "null" : "";
}

/** Returns the values of changed fields, and the errors of invalid fields. Empty fields of a new
 * row are left out. */
function rowOfForm(
  columns: readonly ConsoleColumn[],
  values: FormValues,
  isNew: boolean,
): readonly [row: GridRow, problems: ReadonlyMap<string, string>] {
  const row: Record<string, unknown> = Object.create(null);
  const problems = new Map<string, string>();
  for (const column of columns) {
    const text = values[column.name];
    if (isNew && !text) {
      if (isRequired(column)) problems.set(column.name, "Expected a value");
      continue;
    }
    if (text === undefined) continue;
    const problem = text === null ? null : problemOf(column, text);
    if (problem === null) row[column.name] = text === null ? null : valueOf(column, text);
    else problems.set(column.name, problem);
  }
  return [row, problems];
}

/** Sends a request, and stores its error. */
export function useSending(onSaved: OnSaved) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (call: ApiCall) => {
    setBusy(true);
    setError(null);
    await guarded(async () => {
      const answer = await callApi(call);
      const rows = rowsOf(answer);
      const failure = errorOf(answer) ?? (rows.length === 0 ? unchanged : null);
      if (failure !== null) setError(failure);
      else onSaved(rows);
    });
    setBusy(false);
  };
  return { error, isBusy, send };
}

const unchanged: ApiError = {
  status: 200,
  code: null,
  message: "No row was changed",
  details: "The row no longer exists, or a policy hides it from the role.",
  hint: null,
};

/** The current state of a row. */
interface CurrentRow {
  /** Value of `If-Match`, or null. */
  readonly tag: string | null;
  /** Null if the row could not be read. */
  readonly row: GridRow | null;
  /** False while the row is being read. */
  readonly isKnown: boolean;
}

/** Reads a row and its tag once. Reads nothing if `etag-mode` is off, or for a new row. */
export function useRowTag(relation: ConsoleRelation, row: GridRow | null): CurrentRow {
  const mode = row === null ? "off" : serviceState.value?.features.tags ?? "off";
  const isKnown = mode === "off";
  const [current, setCurrent] = useState<CurrentRow>({ tag: null, row: null, isKnown });
  useEffect(() => {
    if (row === null || isKnown) return;
    void guarded(async () => {
      const answer = await callApi(readCall(relation, keyQuery(relation, row)));
      const read = errorOf(answer) === null ? rowsOf(answer)[0] ?? null : null;
      const tag = versionTag(answer.headers.get("ETag")) ?? (mode === "required" ? "*" : null);
      setCurrent({ tag, row: read, isKnown: true });
    });
  }, []);
  return current;
}

/** Returns a tag that contains the version of a row; null for other tags, which `If-Match` never matches. */
function versionTag(tag: string | null): string | null {
  return tag !== null && /^"[0-9a-f]{16}-/.test(tag) ? tag : null;
}

/// <reference lib="dom" />
/**
 * Inserts a row.
 *
 * @module
 */
import { useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_data.ts";
import { type ApiError, callApi, errorOf } from "./api.ts";
import { CallPreview } from "./call_preview.ts";
import { insertCall, valueOf } from "./edit.ts";
import { ErrorBox } from "./error_box.ts";
import { guarded, profileHeader, serviceState } from "./model.ts";
import { ValueInput } from "./value_input.ts";
import { Dialog, html, type View } from "./view.ts";

interface InsertDialogProps {
  readonly relation: ConsoleRelation;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** A form of the columns, required ones first. Columns left empty get their defaults. */
export function InsertDialog({ relation, onClose, onSaved }: InsertDialogProps): View {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [note, setNote] = useState("");
  const columns = relation.columns.filter(({ generated }) => !generated)
    .toSorted((a, b) => Number(isRequired(b)) - Number(isRequired(a)));
  const [row, problem] = rowOfForm(columns, values);
  const profile = profileHeader(relation.schema, "POST");
  const send = (isTry: boolean) => async (event: Event) => {
    event.preventDefault();
    if (problem !== null) return;
    setError(null);
    setNote("");
    await guarded(async () => {
      const answer = await callApi(insertCall(relation, row, { profile, isTry }));
      const failure = errorOf(answer);
      if (failure !== null) setError(failure);
      else if (isTry) setNote("The request succeeds; its transaction was rolled back.");
      else onSaved();
    });
  };
  const field = (column: ConsoleColumn) =>
    html`
      <div class="form-row" key=${column.name}>
        <label for=${`insert-${column.name}`}>${column.name}${isRequired(column) &&
          html`<span class="required"> required</span>`}<small>${column.type}</small></label>
        <${ValueInput} id=${`insert-${column.name}`} column=${column}
          value=${values[column.name] ?? ""} placeholder=${placeholderOf(column)}
          onValue=${(value: string) => setValues({ ...values, [column.name]: value })} />
        ${column.comment !== null && html`<p class="hint">${column.comment}</p>`}
      </div>
    `;
  return html`
    <${Dialog} title=${`Insert into ${relation.name}`} onClose=${onClose} kind="drawer">
      <form class="stack" onSubmit=${send(false)}>
        ${columns.map(field)}
        ${problem !== null && html`<p class="error" role="alert">${problem}</p>`}
        <${CallPreview} call=${insertCall(relation, row, { profile, isTry: false })} />
        ${error !== null && html`<${ErrorBox} error=${error} />`}
        <p class="hint" role="status">${note}</p>
        <div class="actions">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          ${serviceState.value?.features.rollback &&
            html`<button type="button" class="button" onClick=${send(true)}>Try</button>`}
          <button type="submit" class="button is-primary">Insert</button>
        </div>
      </form>
      <//>
  `;
}

function isRequired(column: ConsoleColumn): boolean {
  return !column.nullable && column.default === null;
}

function placeholderOf({ default: fallback, nullable }: ConsoleColumn): string {
  return fallback !== null ? `default ${fallback}` : nullable ? "null" : "";
}

function rowOfForm(
  columns: readonly ConsoleColumn[],
  values: Readonly<Record<string, string>>,
): readonly [row: Readonly<Record<string, unknown>>, problem: string | null] {
  const row: Record<string, unknown> = {};
  for (const column of columns) {
    const text = values[column.name] ?? "";
    if (text === "") continue;
    try {
      row[column.name] = valueOf(column, text);
    } catch (error) {
      return [row, `${column.name}: ${error instanceof Error ? error.message : String(error)}`];
    }
  }
  return [row, null];
}

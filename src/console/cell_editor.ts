/// <reference lib="dom" />
/**
 * Changes one value of a row.
 *
 * @module
 */
import { useEffect, useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../admin/console_data.ts";
import { type ApiError, callApi, errorOf, rowsOf } from "./api.ts";
import { CallPreview } from "./call_preview.ts";
import type { ApiCall } from "./code.ts";
import { formText, type GridRow, updateCall, valueOf } from "./edit.ts";
import { ErrorBox } from "./error_box.ts";
import { guarded, profileHeader, serviceState } from "./model.ts";
import { useRowTag } from "./row_tag.ts";
import { ValueInput } from "./value_input.ts";
import { Dialog, html, type View } from "./view.ts";

/** A value to change. */
export interface CellEdit {
  readonly relation: ConsoleRelation;
  readonly column: ConsoleColumn;
  readonly row: GridRow;
  /** Rectangle of the cell. */
  readonly anchor: DOMRect;
}

interface CellEditorProps extends CellEdit {
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Shows the request, sends it, and shows the error of the API beside the value. */
export function CellEditor(props: CellEditorProps): View {
  const { relation, column, row, anchor, onClose, onSaved } = props;
  const [text, setText] = useState(formText(row[column.name]));
  const [isNull, setNull] = useState(row[column.name] === null);
  const [error, setError] = useState<ApiError | null>(null);
  const [note, setNote] = useState("");
  const [isBusy, setBusy] = useState(false);
  const current = useRowTag(relation, row);
  useEffect(() => {
    const value = current.row?.[column.name];
    if (value === undefined || formText(value) === formText(row[column.name])) return;
    setText(formText(value));
    setNull(value === null);
    setNote("The row has changed since the page was loaded. This is its value now.");
  }, [current.row]);
  const call = (isTry: boolean): ApiCall | string => {
    try {
      const changes = { [column.name]: isNull ? null : valueOf(column, text) };
      const profile = profileHeader(relation.schema, "PATCH");
      return updateCall(relation, { row, changes }, { profile, isTry, tag: current.tag });
    } catch (problem) {
      return problem instanceof Error ? problem.message : String(problem);
    }
  };
  const send = (isTry: boolean) => async (event: Event) => {
    event.preventDefault();
    const request = call(isTry);
    if (typeof request === "string" || isBusy) return;
    setBusy(true);
    setError(null);
    setNote("");
    await guarded(async () => {
      const answer = await callApi(request);
      const failure = errorOf(answer) ?? (rowsOf(answer).length === 0 ? unchanged : null);
      if (failure !== null) setError(failure);
      else if (isTry) setNote("The request succeeds; its transaction was rolled back.");
      else onSaved();
    });
    setBusy(false);
  };
  const preview = call(false);
  return html`
    <${Dialog} title=${`Change ${column.name}`} onClose=${onClose} kind="popover" anchor=${anchor}>
      <form class="stack" onSubmit=${send(false)}>
        <div class="field-row">
          <${ValueInput} column=${column} value=${isNull ? "" : text} disabled=${isNull}
            label=${column.name} autofocus=${true} onValue=${setText} />
          ${column.nullable && html`<label class="check"><input type="checkbox" checked=${isNull}
            onChange=${(event: Event) =>
            setNull((event.target as HTMLInputElement).checked)} />null</label>`}
        </div>
        <p class="hint">${column.type}${column.comment === null ? "" : ` · ${column.comment}`}</p>
        ${typeof preview === "string"
          ? html`<p class="error" role="alert">${preview}</p>`
          : html`<${CallPreview} call=${preview} />`}
        ${error !== null && html`<${ErrorBox} error=${error} />`}
        <p class="hint" role="status">${note}</p>
        <div class="actions">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          ${serviceState.value?.features.rollback &&
            html`<button type="button" class="button" onClick=${send(true)}>Try</button>`}
          <button type="submit" class="button is-primary" disabled=${isBusy ||
            !current.isKnown}>Save</button>
        </div>
      </form>
      <//>
  `;
}

const unchanged: ApiError = {
  status: 200,
  code: null,
  message: "No row was changed",
  details: "The row no longer exists, or a policy hides it from the role.",
  hint: null,
};

/// <reference lib="dom" />
/** The page of a function: a form with its parameters, and its result. @module */
import { prettyJson } from "../../../base/lib/json_text.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ConsoleFunction } from "../server/console_schema.ts";
import { isJsonObject } from "../../../base/lib/json_object.ts";
import { type ApiAnswer, callApi, errorOf, rowsOf } from "./api.ts";
import { signature } from "./cells.ts";
import type { ApiCall } from "./code.ts";
import { CodePanel, codeShown } from "./code_panel.ts";
import { valueOf } from "./edit.ts";
import { ErrorBox } from "./exchange.ts";
import { encode, splitParams } from "./filters.ts";
import { Grid } from "./grid.ts";
import { functionsOf, guarded, profileHeader, schema } from "./model.ts";
import { navigate, route } from "./route.ts";
import { ValueInput } from "./value_input.ts";
import { bytesText, durationText, emptyPage, html, Select, type View } from "./view.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

/** The page. The route contains the arguments. */
export function FunctionPage(): View {
  const current = route.value;
  const overloads = functionsOf(current.schema).filter(({ name }) => name === current.name);
  const [index, setIndex] = useState(0);
  const chosen = overloads[index];
  if (chosen === undefined) {
    return emptyPage(current.name, "The schema has no function of this name");
  }
  return html`
    <div class="table-page">
      <header>
        <h1 class="row">${chosen.name}<span class="tag muted">${chosen.volatility}</span></h1>
        <p class="muted">${chosen.comment ?? signature(chosen)}</p>
        ${overloads.length > 1 && html`
          <label class="row muted">Overload
            <${Select} label="Overload" value=${String(index)}
              options=${overloads.map((each, place) => [String(place), signature(each)])}
              onValue=${(place: string) => setIndex(Number(place))} /></label>
        `}
      </header>
      <${FunctionForm} key=${index} routine=${chosen} />
    </div>
  `;
}

function FunctionForm({ routine }: { readonly routine: ConsoleFunction }): View {
  const current = route.value;
  const values = useMemo(() => new Map(splitParams(current.query)), [current.query]);
  const [answer, setAnswer] = useState<ApiAnswer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [call, problem] = callOf(routine, values);
  const change = (name: string) => (value: string) => {
    const query = queryOf(new Map(values).set(name, value));
    navigate({ ...current, query }, { replace: true });
  };
  const label = call.method === "GET" ? "Run" : "Run (may write)";
  const run = async (event: Event) => {
    event.preventDefault();
    if (problem !== null || isBusy) return;
    setBusy(true);
    await guarded(async () => setAnswer(await callApi(call)));
    setBusy(false);
  };
  return html`
    <div class=${`split ${codeShown.value ? "has-code" : ""}`}>
      <div class="split-main">
        <form class="page" onSubmit=${run}>
          ${routine.parameters.length === 0 &&
            html`<p class="hint">The function has no parameters.</p>`}
          ${routine.parameters.map((parameter, place) =>
            parameterRow(parameter, `parameter-${place}`, {
              value: values.get(parameter.name) ?? "",
              onValue: change(parameter.name),
            })
          )}
          ${problem !== null && html`<p class="bad" role="alert">${problem}</p>`}
          <div class="row actions">
            <button type="submit" class="button is-primary" disabled=${isBusy}>${label}</button>
          </div>
        </form>
        ${answer !== null && html`<${Result} ...${{ answer, call }} />`}
      </div>
      ${codeShown.value && html`<${CodePanel} call=${call} />`}
    </div>
  `;
}

/** Returns the query string with all values that are not empty. */
function queryOf(values: Iterable<readonly [name: string, text: string]>): string {
  return Array.from(values).filter(([, text]) => text !== "")
    .map((pair) => pair.map(encode).join("=")).join("&");
}

function parameterRow(
  { name, type, required }: ConsoleFunction["parameters"][number],
  id: string,
  field: { readonly value: string; readonly onValue: (value: string) => void },
): View {
  return html`
    <div class="field" key=${name}>
      <label class="row" for=${id}>${name || "body"}${required &&
        html`<span class="bad"> required</span>`}<small>${type}</small></label>
      <${ValueInput} ...${{ id, ...field }} column=${{ baseType: type, enumLabels: labelsOf(type) }}
        placeholder=${required ? "" : "default"} />
    </div>
  `;
}

/** Returns the labels of an enum, if a column has this type; otherwise an empty list. */
function labelsOf(type: string): readonly string[] {
  const columns = schema.value?.relations.flatMap((relation) => relation.columns) ?? [];
  return columns.find((column) => column.baseType === type)?.enumLabels ?? [];
}

/** Returns the call: GET for functions that only read, otherwise POST. `problem` names a value that
 * is not JSON. */
function callOf(
  { schema, name, volatility, parameters }: ConsoleFunction,
  values: ReadonlyMap<string, string>,
): readonly [call: ApiCall, problem: string | null] {
  const path = `rpc/${encodeURIComponent(name)}`;
  const sent = parameters.filter((each) => values.has(each.name));
  const isUnnamed = parameters.length === 1 && parameters[0]!.name === "";
  if (volatility !== "volatile" && !isUnnamed) {
    const query = queryOf(sent.map((each) => [each.name, values.get(each.name)!]));
    const headers = profileHeader(schema, "GET");
    return [{ method: "GET", path, query, headers, body: null }, null];
  }
  const headers = [["Content-Type", "application/json"] as const, ...profileHeader(schema, "POST")];
  let problem: string | null = null;
  const entries = sent.map((each) => {
    const text = values.get(each.name)!;
    try {
      return [each.name, valueOf({ baseType: each.type }, text)] as const;
    } catch (error) {
      problem = `${each.name}: ${errorMessage(error)}`;
      return [each.name, text] as const;
    }
  });
  const body = isUnnamed ? values.get("") ?? "" : JSON.stringify(Object.fromEntries(entries));
  return [{ method: "POST", path, query: "", headers, body }, problem];
}

function Result({ answer, call }: { readonly answer: ApiAnswer; readonly call: ApiCall }): View {
  const failure = errorOf(answer);
  if (failure !== null) return html`<${ErrorBox} error=${failure} call=${call} />`;
  return html`
    <section class="scroll" aria-label="Result">
      <p class="hint bar" role="status">${answer.status} · ${durationText(answer.ms)} · ${bytesText(
        answer.bytes.size,
      )}</p>
      <${ResultBody} ...${{ answer }} />
    </section>
  `;
}

function ResultBody({ answer }: { readonly answer: ApiAnswer }): View {
  const { mediaType, text, bytes } = answer;
  let output = text === "" ? "No content" : text;
  if (/[/+]json$/.test(mediaType) && text !== null && text !== "") {
    const rows = rowsOf(answer);
    const isList = JSON.parse(text) instanceof Array && rows.every(isJsonObject);
    if (isList && rows.length > 0) {
      return html`
        <${Grid} relation=${null} rows=${rows} columns=${Object.keys(rows[0]!)}
          order=${[]} label="Result" />
      `;
    }
    output = prettyJson(text);
  }
  if (output !== null) {
    return html`
      <div class="bar">
        <pre tabindex="0">${output}</pre>
      </div>
    `;
  }
  if (/^image\/(?:png|jpeg|gif|webp)$/.test(mediaType)) {
    return html`<${Picture} ...${{ bytes }} />`;
  }
  return html`<p>${bytesText(bytes.size)} of ${mediaType}</p>`;
}

/** An image. The security policy allows only `data:` URLs. */
function Picture({ bytes }: { readonly bytes: Blob }): View {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const reader = new FileReader();
    reader.onload = () => setUrl(String(reader.result));
    reader.readAsDataURL(bytes);
  }, [bytes]);
  return url === null ? null : html`<img src=${url} alt="Result of the function" />`;
}

/// <reference lib="dom" />
/** The API reference: tables, functions and URLs, with examples from this schema. @module */
import { useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleFunction, ConsoleRelation } from "../server/console_schema.ts";
import { callApi } from "./api.ts";
import { filterOperators, filterParam, operatorsOf, takesValue } from "./filters.ts";
import { signature } from "./cells.ts";
import { embedItem } from "./toolbar.ts";
import { documentCall, functionsOf, guarded, may, relationshipsOf, relationsOf } from "./model.ts";
import { hrefOf, route } from "./route.ts";
import { DataTable, html, Icon, saveFile, type View, withText } from "./view.ts";

export function ReferencePage(): View {
  const { schema } = route.value;
  const [text, setText] = useState("");
  const fits = ({ name, comment }: { readonly name: string; readonly comment: string | null }) =>
    `${name} ${comment ?? ""}`.toLowerCase().includes(text.toLowerCase());
  const relations = relationsOf(schema).filter(fits);
  const functions = functionsOf(schema).filter(fits);
  return html`
    <div class="page">
      <header class="row between"><div><h1>Reference</h1>
        <p class="muted">The schema ${schema} as an API, for the current role</p></div>
        <div class="row">${(["3.1", "2.0"] as const).map((version) =>
          html`<${DocumentLink} key=${version} ...${{ schema, version }} />`
        )}</div>
      </header>
      <label class="field">Filter the reference
        <input type="search" value=${text} onInput=${withText(setText)} /></label>
      <section class="stack" aria-labelledby="tables"><h2 id="tables">Tables and views</h2>
        ${relations.map((relation) =>
          html`<${RelationEntry} key=${relation.name} ...${{ relation }} />`
        )}
      </section>
      ${functions.length > 0 && html`
        <section class="stack" aria-labelledby="functions"><h2 id="functions">Functions</h2>
          ${functions.map((each, index) =>
            html`<${FunctionEntry} key=${index} routine=${each} />`
          )}</section>
      `}
    </div>
  `;
}

/** A link that saves the OpenAPI document of the role. */
function DocumentLink(
  { schema, version }: { readonly schema: string; readonly version: "2.0" | "3.1" },
): View {
  const save = () =>
    guarded(async () => {
      const { bytes } = await callApi(documentCall(schema, version));
      saveFile(`openapi-${version}.json`, bytes);
    });
  return html`<button type="button" onClick=${save}>OpenAPI ${version}</button>`;
}

const methods = ["get", "post", "patch", "delete"] as const;

function RelationEntry({ relation }: { readonly relation: ConsoleRelation }): View {
  const { schema, name, comment, columns, primaryKey, isView } = relation;
  const { insertable: post, updatable: patch, deletable } = relation;
  const accepted = { get: true, post, patch, delete: deletable };
  const allowed = methods.filter((method) => accepted[method] && may(method, `/${name}`));
  return html`
    <details class="box" open=${route.value.name === name}>
      <summary class="row between card">
        <strong class="row"><${Icon} name=${isView ? "view" : "table"} />${name}</strong>
        <span class="row">${allowed.map((method) =>
          html`<span class="tag accent" key=${method}>${method.toUpperCase()}</span>`
        )}${allowed.length === 0 && html`<span class="tag muted">no access</span>`}</span></summary>
      <div class="stack card">
        ${comment !== null && html`<p>${comment}</p>`}
        <${DataTable} label=${`Columns of ${name}`} head=${["Column", "Type", "Default", "Filters"]}
          rows=${columns.map((column) => columnRow(column, primaryKey))} />
        <${Related} ...${{ relation }} />
        <div class="row actions"><a class="button" href=${hrefOf({ page: "table", schema, name })}>
          <${Icon} name="table" />Open ${name}</a></div>
      </div>
    </details>
  `;
}

function columnRow(column: ConsoleColumn, primaryKey: readonly string[]): readonly View[] {
  const [operator = "eq"] = operatorsOf(column);
  const example = takesValue(operator) ? column.enumLabels[0] ?? "…" : "";
  const filter = { column: column.name, path: "", operator, value: example };
  const names = operatorsOf(column).map((each) => filterOperators[each]).join(", ");
  return [
    html`<code>${column.name}</code>${" "}${
      primaryKey.includes(column.name) && html`<span class="tag muted">key</span>`
    }${column.comment !== null && html`<p class="hint">${column.comment}</p>`}`,
    html`${column.type}${!column.nullable && html`<small> not null</small>`}${
      column.enumLabels.length > 0 && html`<p class="hint">${column.enumLabels.join(", ")}</p>`
    }`,
    column.default !== null && html`<code>${column.default}</code>`,
    html`<div><code class="wrap">${
      filterParam(filter).join("=")
    }</code><p class="hint">${names}</p></div>`,
  ];
}

function Related({ relation }: { readonly relation: ConsoleRelation }): View {
  const relationships = relationshipsOf(relation);
  if (relationships.length === 0) return null;
  return html`
    <div>
      <h3>Related</h3>
      <ul>
        ${relationships.map((each) => {
          const { foreign: [schema, name], kind } = each;
          const href = hrefOf({ page: "reference", schema, name });
          const item = embedItem(each, relationships);
          return html`<li key=${item}>
            <a href=${href}>${name}</a> <span class="muted">${kind}, <code>${item}</code></span></li>`;
        })}
      </ul>
    </div>
  `;
}

function FunctionEntry({ routine }: { readonly routine: ConsoleFunction }): View {
  const { schema, name, comment, volatility } = routine;
  const method = volatility === "volatile" ? "POST" : "GET";
  const isAllowed = may("post", `/rpc/${name}`);
  const href = hrefOf({ page: "function", schema, name });
  return html`
    <details class="box">
      <summary class="row between card">
        <strong class="row"><${Icon} name="function" />${name}</strong>
        <span class="tag accent">${isAllowed ? method : "no access"}</span></summary>
      <div class="stack card">
        <p><code class="wrap">${signature(routine)}</code></p>
        ${comment !== null && html`<p>${comment}</p>`}
        <div class="row actions"><a class="button" href=${href}>
          <${Icon} name="play" />Open ${name}</a></div>
      </div>
    </details>
  `;
}

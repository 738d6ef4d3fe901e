/// <reference lib="dom" />
/** The start page, with an overview of the API. @module */
import { counted } from "../../../base/lib/printable.ts";
import type { ConsoleRelation } from "../server/console_schema.ts";
import { access, functionsOf, may, relationsOf, schemaName, serviceState } from "./model.ts";
import { RecentRequests } from "./recent.ts";
import { hrefOf } from "./route.ts";
import { CopyButton, Empty, html, Icon, type View } from "./view.ts";

/** Names the API, and shows its tables as cards. */
export function StartPage(): View {
  const state = serviceState.value!;
  const name = schemaName.value;
  const relations = relationsOf(name);
  const functions = new Set(functionsOf(name).map((each) => each.name)).size;
  const error = access.value?.error ?? null;
  return html`
    <div class="page">
      <header class="row between">
        <div>
          <h1>${name}</h1>
          <p class="muted">${counted(relations.length, "table")} and views, ${counted(
            functions,
            "function",
          )}, on PostgreSQL ${state.database.version ?? "unknown"}</p>
        </div>
        <div class="row"><code>${state.api.url}</code>
          <${CopyButton} text=${() => state.api.url} label="Copy URL" /></div>
      </header>
      ${error !== null &&
        html`<p class="alert" role="alert">${error.message}${
          error.hint === null ? "" : `. ${error.hint}`
        }</p>`}
      <${RecentRequests} schema=${name} />
      ${relations.length === 0 &&
        html`<${Empty} title="The schema has no tables that the service knows" />`}
      <ul class="cards">
        ${relations.map(relationCard)}
      </ul>
    </div>
  `;
}

function relationCard({ name, isView, comment, columns }: ConsoleRelation): View {
  const schema = schemaName.value;
  const href = hrefOf({ page: "table", schema, name });
  const isRefused = !may("get", `/${name}`);
  return html`<li key=${name}>
    <a class="box card stack" href=${href}>
      <strong class="row"><${Icon} name=${isView ? "view" : "table"} />${name}
        ${isRefused && html`<span class="tag muted">no access</span>`}</strong>
      <span class="muted">${comment ?? columnsText(columns)}</span>
    </a></li>`;
}

function columnsText(columns: readonly { readonly name: string }[]): string {
  const names = columns.map(({ name }) => name);
  return names.slice(0, 6).join(", ") + (names.length > 6 ? " …" : "");
}

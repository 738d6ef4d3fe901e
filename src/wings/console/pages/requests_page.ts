/// <reference lib="dom" />
/** The page of requests: figures, recent and slow requests, and the last log lines. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import { useState } from "preact/hooks";
import type { ConsoleLog, ConsoleRequests } from "../server/console_routes.ts";
import { readConsole } from "./api.ts";
import { Figures } from "./figures.ts";
import { useEntries, usePolling } from "./loading.ts";
import { guarded, schemaName, serviceState } from "./model.ts";
import { hrefOf } from "./route.ts";
import {
  bytesText,
  DataTable,
  durationText,
  Empty,
  html,
  Icon,
  Select,
  timeText,
  type View,
  withText,
} from "./view.ts";

export function RequestsPage(): View {
  const slow = durationText(serviceState.value!.features.slowMs);
  return html`
    <div class="page">
      <header>
        <h1>Requests</h1>
        <p class="muted">The newest 500 requests while a console is open, and the newest 200 that took
          at least ${slow}. Requests of consoles are left out.</p>
      </header>
      <${Figures} />
      <${RequestList} />
      <${LogTail} />
    </div>
  `;
}

type ListedRequest = ConsoleRequests["newest"][number];

/** Orders of the list, which contains the newest and the slowest requests. */
const orders = {
  Newest: ({ newest }: ConsoleRequests) => newest.toReversed(),
  Slowest: ({ newest, slow }: ConsoleRequests) =>
    [...new Map([...slow, ...newest].map((each) => [keyOf(each), each])).values()]
      .sort((one, other) => other.ms.total - one.ms.total),
};

const keyOf = ({ time, ms, target }: ListedRequest) => `${time} ${ms.total} ${target}`;

/** Maximum rows shown at a time. */
const maxRows = 100;

function RequestList(): View {
  const [requests, setRequests] = useState<ConsoleRequests>({ newest: [], slow: [] });
  const [order, setOrder] = useState<keyof typeof orders>("Newest");
  const [text, setText] = useState("");
  const [status, setStatus] = useState("");
  const [isPaused, setPaused] = useState(false);
  const read = async () =>
    setRequests(await readConsole<ConsoleRequests>(`requests?status=${status}`));
  usePolling(() => isPaused || void guarded(read), 2000, [isPaused, status]);
  const words = text.toLowerCase();
  const rows = orders[order](requests).filter(({ target, role, method, operation }) =>
    `${method} ${target} ${role ?? ""} ${operation ?? ""}`.toLowerCase().includes(words)
  ).slice(0, maxRows);
  return html`
    <section class="stack" aria-labelledby="requests">
      <div class="row between">
        <h2 id="requests">Requests</h2>
        <div class="row">
          <div class="row" role="group" aria-label="Order">
            ${Object.keys(orders).map((each) =>
              html`
                <button type="button" key=${each} aria-pressed=${String(each === order)}
                  onClick=${() => setOrder(each as typeof order)}>${each}</button>
              `
            )}
          </div>
          <input type="search" aria-label="Path or role" placeholder="Path or role" value=${text}
            onInput=${withText(setText)} />
          <${Select} label="Status" value=${status} onValue=${setStatus}
            options=${[["", "Any status"], ["2", "2xx"], ["4", "4xx"], ["5", "5xx"]]} />
          <button type="button" class="icon-button" aria-label=${isPaused ? "Continue" : "Pause"}
            onClick=${() => setPaused(!isPaused)}><${Icon} name=${isPaused
              ? "play"
              : "pause"} /></button>
        </div>
      </div>
      ${rows.length === 0 ? html`<${Empty} title="No requests" />` : html`
        <${DataTable} label="List of requests" numbers=${[4, 5]} rows=${rows.map(requestRow)}
          keys=${rows.map(({ id, time }) => `${id} ${time}`)}
          head=${["Time", "Status", "Request", "Role", "Duration", "Size"]} />
      `}
    </section>
  `;
}

/** The cells of a request. A click on the row opens the details. */
function requestRow(request: ListedRequest): readonly View[] {
  const { id, time, status, method, target, role, ms, bytes, code } = request;
  const level = status >= 500 ? "bad" : status >= 400 ? "warn" : "";
  return [
    timeText(time),
    html`<strong class=${level}>${status}</strong>${
      code !== null && html`<small> ${code}</small>`
    }`,
    html`
      <details key=${id}>
        <summary><code>${method} ${percentDecode(target, "replace")}</code></summary>
        <${RequestDetails} ...${{ request }} />
      </details>
    `,
    role ?? "–",
    durationText(ms.total),
    bytes === null ? "–" : bytesText(bytes),
  ];
}

function RequestDetails({ request }: { readonly request: ListedRequest }): View {
  const { ms, client, sql, method, target } = request;
  const [queue, database, rest] = [ms.queue, ms.database, ms.total - ms.queue - ms.database]
    .map((part) => durationText(Math.max(0, part)));
  const times = `Queue ${queue} · database ${database} · rest ${rest}`;
  const link = method === "GET" ? linkOf(target) : null;
  return html`
    <div class="stack">
      <p>${times}${client !== null && ` · from ${client}`}</p>
      ${sql !== null
        ? html`<pre tabindex="0" aria-label="SQL">${sql}</pre>`
        : html`<p class="hint">${
          serviceState.value?.features.logQuery
            ? "The request sent no SQL."
            : "log-query shows the SQL here."
        }</p>`}
      ${link !== null && html`<div class="row actions"><a class="button" href=${link}>
        <${Icon} name="table" />Open as table</a></div>`}
    </div>
  `;
}

/** Returns the address of the table page for a path that reads a table; null for other paths. */
function linkOf(target: string): string | null {
  const [, name, query = ""] = /^\/([^/?]+)(?:\?(.*))?$/s.exec(target) ?? [];
  if (name === undefined) return null;
  return hrefOf({
    page: "table",
    schema: schemaName.value,
    name: percentDecode(name, "replace"),
    query,
  });
}

/** Maximum lines that the page shows. */
const maxLines = 1000;

function LogTail(): View {
  const [isPaused, setPaused] = useState(false);
  const entries = useEntries<ConsoleLog[number]>("log", { max: maxLines, isPaused });
  return html`
    <section class="stack" aria-labelledby="log">
      <div class="row between"><h2 id="log">Log</h2>
        <button type="button" aria-pressed=${String(isPaused)}
          onClick=${() => setPaused(!isPaused)}>${isPaused ? "Continue" : "Pause"}</button></div>
      <pre tabindex="0" aria-label="Lines of the log">${entries.length === 0
        ? "No lines"
        : entries.map(({ line }) => line).toReversed().join("\n")}</pre>
    </section>
  `;
}

/// <reference lib="dom" />
/** The page of requests: figures, recent and slow requests, and the end of the log. @module */
import { useRef, useState } from "preact/hooks";
import type { ConsoleLog, ConsoleRequests } from "../admin/console_routes.ts";
import { readConsole } from "./api.ts";
import { Figures } from "./figures.ts";
import { decode } from "./filters.ts";
import { sentRequests } from "./history.ts";
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
  usePolling,
  type View,
  withText,
} from "./view.ts";

/** Figures, requests and log lines, all live. */
export function RequestsPage(): View {
  return html`
    <div class="page">
      <header class="page-head">
        <div>
          <h1>Requests</h1>
          <p class="lead">The newest 500 requests, and the newest 200 that took at least ${durationText(
            serviceState.value!.features.slowMs,
          )}</p>
        </div>
      </header>
      <${Figures} />
      <${RequestList} />
      <${SentRequests} />
      <${LogTail} />
    </div>
  `;
}

type ListedRequest = ConsoleRequests["newest"][number];

/** Rows that the page shows at a time. */
const maxRows = 100;

function RequestList(): View {
  const [requests, setRequests] = useState<ConsoleRequests>({ newest: [], slow: [] });
  const [kind, setKind] = useState<"newest" | "slow">("newest");
  const [text, setText] = useState("");
  const [status, setStatus] = useState("");
  const [isPaused, setPaused] = useState(false);
  usePolling(
    () => {
      if (isPaused) return;
      void guarded(async () => {
        setRequests(await readConsole<ConsoleRequests>(`requests?status=${status}`));
      });
    },
    2000,
    [isPaused, status],
  );
  const words = text.toLowerCase();
  const shown = requests[kind].filter(({ target, role, method }) =>
    `${method} ${target} ${role ?? ""}`.toLowerCase().includes(words)
  ).toReversed().slice(0, maxRows);
  return html`
    <section aria-labelledby="requests">
      <div class="section-head">
        <h2 id="requests">Requests</h2>
        <div class="list-controls">
          <div class="segmented" role="group" aria-label="List">
            ${(["newest", "slow"] as const).map((each) =>
              html`
                <button type="button" key=${each} aria-pressed=${String(each === kind)}
                  onClick=${() => setKind(each)}>${each === "newest" ? "Newest" : "Slow"}</button>
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
      ${shown.length === 0 ? html`<${Empty} title="No requests" />` : html`
        <${DataTable} label="List of requests" numbers=${[4, 5]} rows=${shown.map(requestRow)}
          keys=${shown.map(({ id }) => id)}
          head=${["Time", "Status", "Request", "Role", "Duration", "Size"]} />
      `}
    </section>
  `;
}

/** The cells of a request; its line opens the details. */
function requestRow(request: ListedRequest): readonly View[] {
  const { id, time, status, method, target, role, ms, bytes, code } = request;
  const level = status >= 500 ? "level-error" : status >= 400 ? "level-warn" : "";
  return [
    new Date(time).toLocaleTimeString(),
    html`<span class=${`status-code ${level}`}>${status}</span>${
      code !== null && html`<small> ${code}</small>`
    }`,
    html`
      <details key=${id}>
        <summary class="link-button"><code>${method} ${decode(target)}</code></summary>
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
  const other = Math.max(0, ms.total - ms.queue - ms.database);
  const link = method === "GET" ? linkOf(target) : null;
  return html`
    <div class="stack">
      <p>Queue ${durationText(ms.queue)} · database ${durationText(
        ms.database,
      )} · rest ${durationText(other)}${client !== null && ` · from ${client}`}</p>
      ${sql !== null
        ? html`<pre class="sql" tabindex="0" aria-label="SQL">${sql}</pre>`
        : html`<p class="hint">${
          serviceState.value?.features.logQuery
            ? "The request sent no SQL."
            : "log-query shows the SQL here."
        }</p>`}
      ${link !== null && html`<div class="actions"><a class="button" href=${link}>
        <${Icon} name="table" />Open as table</a></div>`}
    </div>
  `;
}

/** Returns the page of a table that a path reads; null for other paths. */
function linkOf(target: string): string | null {
  const [, name, query = ""] = /^\/([^/?]+)(?:\?(.*))?$/s.exec(target) ?? [];
  if (name === undefined) return null;
  return hrefOf({
    page: "table",
    schema: schemaName.value,
    name: decode(name),
    view: "rows",
    query,
  });
}

/** The last requests of this browser, which the service does not list. */
function SentRequests(): View {
  if (sentRequests.value.length === 0) return null;
  const rows = sentRequests.value.map(({ time, status, method, target, ms, href }) => [
    new Date(time).toLocaleTimeString(),
    status,
    html`<a href=${href}><code>${method} ${decode(target)}</code></a>`,
    durationText(ms),
  ]);
  return html`
    <section aria-labelledby="sent">
      <div class="section-head">
        <h2 id="sent">Sent by this browser</h2>
      </div>
      <${DataTable} label="Requests of this browser" numbers=${[3]} rows=${rows}
        head=${["Time", "Status", "Request", "Duration"]} />
    </section>
  `;
}

/** Lines that the page keeps. */
const maxLines = 1000;

function LogTail(): View {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [isPaused, setPaused] = useState(false);
  const last = useRef(0);
  usePolling(
    () => {
      if (isPaused) return;
      void guarded(async () => {
        const next = await readConsole<ConsoleLog>(`log?after=${last.current}`);
        if (next.length === 0) return;
        last.current = next.at(-1)!.id;
        setLines((known) => [...known, ...next.map(({ line }) => line)].slice(-maxLines));
      });
    },
    3000,
    [isPaused],
  );
  return html`
    <section aria-labelledby="log">
      <div class="section-head"><h2 id="log">Log</h2>
        <button type="button" class="small-button" aria-pressed=${String(isPaused)}
          onClick=${() => setPaused(!isPaused)}>${isPaused ? "Continue" : "Pause"}</button></div>
      <pre class="code log" tabindex="0" aria-label="Lines of the log">${lines.length === 0
        ? "No lines"
        : lines.toReversed().join("\n")}</pre>
    </section>
  `;
}

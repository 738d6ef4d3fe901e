/// <reference lib="dom" />
/** The page of the service's health: state, findings, configuration. @module */
import { useEffect, useState } from "preact/hooks";
import type { ConsoleConfig } from "../server/console_routes.ts";
import type { ConsoleState } from "../server/console_state.ts";
import { readConsole } from "./api.ts";
import { useConsole } from "./loading.ts";
import { guarded, serviceState } from "./model.ts";
import {
  bytesText,
  DataTable,
  durationText,
  Empty,
  grouped,
  html,
  SqlText,
  timeText,
  type View,
} from "./view.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

/** A finding of `/console/findings`. */
interface HealthFinding {
  readonly name: string;
  readonly subject: string | null;
  readonly level: "error" | "warn" | "info";
  readonly message: string;
  readonly sql: string | null;
  readonly caution: string | null;
}

export function HealthPage(): View {
  const state = serviceState.value!;
  return html`
    <div class="page">
      <header>
        <h1>Health</h1>
        <p class="muted">${state.name} ${state.version}, dialect ${state.dialect}</p>
      </header>
      <${Cards} ...${{ state }} />
      <${Findings} />
      <${Configuration} />
    </div>
  `;
}

function Cards({ state }: { readonly state: ConsoleState }): View {
  const { api, database, schemaCache, uptime, rss } = state;
  const cards: readonly (readonly [name: string, value: string, level?: string])[] = [
    ["API", api.live ? "live" : "not listening", api.live ? "good" : "bad"],
    ["Database", database.ready ? "ready" : "unreachable", database.ready ? "good" : "bad"],
    ["PostgreSQL", `${database.version ?? "unknown"}${database.standby ? ", standby" : ""}`],
    ["Running for", durationText(uptime * 1000)],
    ["Memory", rss === null ? "unknown" : bytesText(rss)],
    ...(schemaCache === null ? [["Schema cache", "not loaded", "bad"] as const] : [
      ["Schema cache loaded", timeText(schemaCache.loadedAt)] as const,
      ["Tables and views", grouped(schemaCache.counts.relations)] as const,
      ["Functions", grouped(schemaCache.counts.functions)] as const,
    ]),
  ];
  return html`
    <dl class="cards">
      ${cards.map(([name, value, level]) =>
        html`
          <div class="box card" key=${name}>
            <dt>${name}</dt>
            <dd class=${level}>${level !== undefined && "● "}${value}</dd>
          </div>
        `
      )}
    </dl>
  `;
}

const levels = { error: ["bad", "Error"], warn: ["warn", "Warning"], info: ["", "Note"] } as const;

function Findings(): View {
  const [findings, setFindings] = useState<readonly HealthFinding[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const load = () =>
    guarded(async () => {
      try {
        setFindings(await readConsole<readonly HealthFinding[]>("findings"));
        setProblem(null);
      } catch (error) {
        setProblem(errorMessage(error));
      }
    });
  useEffect(() => void load(), []);
  return html`
    <section class="stack" aria-labelledby="findings">
      <div class="row between">
        <h2 id="findings">Findings${findings !== null && ` (${findings.length})`}</h2>
        <button type="button" onClick=${load}>Diagnose again</button>
      </div>
      ${problem !== null && html`<p class="bad" role="alert">The diagnosis fails: ${problem}</p>`}
      ${findings === null && problem === null && html`<p class="loading">Diagnosing…</p>`}
      ${findings?.length === 0 && html`<${Empty} title="Nothing found" />`}
      ${findings?.map(findingCard)}
    </section>
  `;
}

function findingCard(
  { name, subject, level, message, sql, caution }: HealthFinding,
): View {
  const [color, word] = levels[level];
  return html`
    <article class="box card stack" key=${name + subject}>
      <header class="row"><strong class=${color}>${word}</strong> <code>${name}</code></header>
      <p>${message}</p>
      ${sql !== null && html`
        ${caution !== null && html`<p class="hint">Caution: ${caution}</p>`}
        <${SqlText} ...${{ sql }} />
      `}
    </article>
  `;
}

function Configuration(): View {
  const options = useConsole<ConsoleConfig>("config");
  if (options === null) return null;
  return html`
    <section class="stack" aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
      <${Options} label="Changed" options=${options.filter(({ isChanged }) => isChanged)} />
      <details>
        <summary class="button">Options with their default</summary>
        <${Options} label="Default" options=${options.filter(({ isChanged }) => !isChanged)} />
      </details>
    </section>
  `;
}

function Options(
  { label, options }: { readonly label: string; readonly options: ConsoleConfig },
): View {
  const rows = options.map(({ key, value }) => [
    html`<code>${key}</code>`,
    html`<code>${value}</code>`,
  ]);
  return html`<${DataTable} ...${{ label, rows }} head=${["Option", "Value"]} />`;
}

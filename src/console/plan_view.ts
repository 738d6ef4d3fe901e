/// <reference lib="dom" />
/**
 * The plan of the request that a table shows.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, callApi, errorOf } from "./api.ts";
import type { ApiCall } from "./code.ts";
import { ErrorBox } from "./error_box.ts";
import type { TableViewProps } from "./lazy_view.ts";
import { guarded, serviceState } from "./model.ts";
import type { PlanMessage } from "./plan.ts";
import { token } from "./session.ts";
import { isDark } from "./theme.ts";
import { Empty, html, type View } from "./view.ts";

/** Options of EXPLAIN. */
const planOptions = ["analyze", "buffers", "verbose", "settings"] as const;

type ExplainOption = typeof planOptions[number];

/** Requests the plan from the API, with the role of the token. */
export function PlanView({ call }: TableViewProps): View {
  const type = serviceState.value?.features.planType ?? null;
  const [options, setOptions] = useState<readonly ExplainOption[]>([]);
  const [isText, setText] = useState(false);
  const [plan, setPlan] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const request = type === null ? null : planCall(call, type, options);
  useEffect(() => {
    if (request === null) return;
    const controller = new AbortController();
    void guarded(async () => {
      try {
        const answer = await callApi(request, controller.signal);
        const failure = errorOf(answer);
        setError(failure);
        setPlan(failure === null ? answer.text : null);
      } catch (thrown) {
        if (!controller.signal.aborted) throw thrown;
      }
    });
    return () => controller.abort();
  }, [JSON.stringify(request), token.value]);
  if (type === null) {
    return html`
      <${Empty} title="Plans are off">
        <p>Set <code>db-plan-enabled</code> to show them.
            Leave it off in production: plans show internals of the database.</p>
        <//>
    `;
  }
  const toggle = (option: ExplainOption) => {
    const others = options.filter((each) => each !== option);
    setOptions(others.length === options.length ? [...options, option] : others);
  };
  return html`
    <div class="chart-controls" role="group" aria-label="Options of EXPLAIN">
      ${planOptions.map((option) =>
        html`<label class="check" key=${option}><input type="checkbox" checked=${
          options.includes(option)
        }
          onChange=${() => toggle(option)} />${option}</label>`
      )}
      <span class="spacer"></span>
      <label class="check"><input type="checkbox" checked=${isText}
        onChange=${() => setText(!isText)} />Show as text</label>
    </div>
    ${error !== null && html`<${ErrorBox} error=${error} />`}
    ${plan !== null &&
      (isText
        ? html`<pre class="code plan-text" tabindex="0" aria-label="Plan">${
          JSON.stringify(JSON.parse(plan), null, 2)
        }</pre>`
        : html`<${PlanFrame} plan=${plan} />`)}
  `;
}

function planCall(call: ApiCall, type: string, options: readonly ExplainOption[]): ApiCall {
  const list = options.length === 0 ? "" : `; options=${options.join("|")}`;
  const headers = call.headers.filter(([name]) => name !== "Prefer");
  return { ...call, headers: [["Accept", type + list], ...headers] };
}

/** The frame has a document of its own, since pev2 writes HTML. It says when it is ready. */
function PlanFrame({ plan }: { readonly plan: string }): View {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const onMessage = ({ data, source, origin }: MessageEvent) => {
      if (origin === location.origin && source === frame.current?.contentWindow) {
        if (data?.kind === "ready") setReady(true);
      }
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, []);
  useEffect(() => {
    if (!isReady) return;
    const message: PlanMessage = { kind: "plan", plan, theme: isDark() ? "dark" : "light" };
    frame.current?.contentWindow?.postMessage(message, location.origin);
  }, [isReady, plan]);
  return html`<iframe ref=${frame} class="frame" src="/console/plan" title="Plan"></iframe>`;
}

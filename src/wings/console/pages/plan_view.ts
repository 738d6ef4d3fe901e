/// <reference lib="dom" />
/** The plan of a table's request: as a tree, or as PostgreSQL's text. @module */
import { useState } from "preact/hooks";
import type { ApiCall } from "./code.ts";
import { ErrorBox } from "./exchange.ts";
import { useAnswer } from "./loading.ts";
import { serviceState } from "./model.ts";
import {
  estimateError,
  type ExplainedPlan,
  nodeTitle,
  type PlanNode,
  planRoot,
  planTexts,
  readsOwnClauses,
  slowestNode,
} from "./plan_tree.ts";
import { durationText, Empty, grouped, html, type View } from "./view.ts";

/** Requests the plan from the API, with the role of the token. */
export function PlanView({ call }: { readonly call: ApiCall }): View {
  const type = serviceState.value?.features.planType ?? null;
  const [isRun, setRun] = useState(true);
  const [isText, setText] = useState(false);
  const shownType = isText ? type?.replace(/json$/, "text") : type;
  const request = shownType == null ? null : planCall(call, shownType, isRun);
  const { loaded } = useAnswer(request);
  const { answer = null, error = null } = loaded?.key === JSON.stringify(request) ? loaded : {};
  const plan = answer?.text ?? null;
  const tree = isText || plan === null ? null : planRoot(plan);
  if (type === null) {
    return html`
      <${Empty} title="Plans are off">
        <p>Set <code>db-plan-enabled</code> to show them.
            Leave it off in production: plans show internals of the database.</p>
        <//>
    `;
  }
  return html`
    <div class="row bar" role="group" aria-label="Options of EXPLAIN">
      <label class="row check"><input type="checkbox" checked=${isRun}
        onChange=${() => setRun(!isRun)} />Run the request (analyze)</label>
      <span class="spacer"></span>
      <label class="row check"><input type="checkbox" checked=${isText}
        onChange=${() => setText(!isText)} />Show as text</label>
    </div>
    ${error !== null && html`<${ErrorBox} error=${error} />`}
    ${plan === null ? error === null && html`<p class="loading">Loading…</p>` : html`
      <div class="scroll bar">${tree === null
        ? html`<pre tabindex="0" aria-label="Plan">${plan}</pre>`
        : html`<${PlanTree} ...${tree} />`}</div>
    `}
  `;
}

function planCall(call: ApiCall, type: string, isRun: boolean): ApiCall {
  const list = isRun ? "; options=analyze|buffers" : "";
  const headers = call.headers.filter(([name]) => name !== "Prefer");
  return { ...call, headers: [["Accept", type + list], ...headers] };
}

/** The tree of a plan, with the times of its statement. */
export function PlanTree({ root, planningMs, executionMs }: ExplainedPlan): View {
  const times = Object.entries({ Planning: planningMs, execution: executionMs })
    .flatMap(([name, ms]) => ms === null ? [] : [`${name} ${durationText(ms)}`]);
  return html`
    <p class="hint">${times.join(", ")}</p>
    <${Node} node=${root} slowest=${slowestNode(root)} />
  `;
}

interface NodeProps {
  readonly node: PlanNode;
  readonly slowest: PlanNode | null;
}

/** A node with its descendants. Nodes that only read clauses such as `svc:page` are initially closed. */
function Node({ node, slowest }: NodeProps): View {
  const { planRows, actualRows, ms, ownMs, buffers, cost } = node;
  const rows = actualRows ?? planRows;
  const wrong = estimateError(node);
  return html`
    <details class="plan-node" open=${!readsOwnClauses(node)}>
      <summary class="row"><strong>${nodeTitle(node)}</strong>
        ${node === slowest && html`<span class="tag warn">slowest</span>`}
        ${ms !== null && html`<span>${durationText(ms)}<small> (own ${
          durationText(
            ownMs ?? ms,
          )
        })</small></span>`}
        <span>${rows === 1 ? "1 row" : `${grouped(rows)} rows`}</span>
        ${buffers !== null && html`<span>${buffers}</span>`}
        ${ms === null && html`<span class="muted">cost ${grouped(cost)}</span>`}
        ${wrong !== null &&
          html`<span class="warn">estimated ${grouped(planRows)} rows, ${wrong} times off</span>`}
      </summary>
      ${planTexts(node).map(([name, text]) =>
        html`<p class="hint" key=${name}>${name}: <code>${text}</code></p>`
      )}
      ${node.children.map((child, index) =>
        html`<${Node} key=${index} node=${child} ...${{ slowest }} />`
      )}
    </details>
  `;
}

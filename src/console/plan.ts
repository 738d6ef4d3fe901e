/// <reference lib="dom" />
/**
 * The frame that draws plans with pev2. It gets them from the console's page.
 *
 * @module
 */
import "./plan_icons.ts";
import "@fortawesome/fontawesome-svg-core/styles.css";
import "bootstrap/dist/css/bootstrap.min.css";
import "pev2/dist/pev2.css";
import "./plan.css";
import { Plan } from "pev2";
import { type App, type Component, createApp, h } from "vue";

/** A plan to draw. */
export interface PlanMessage {
  readonly kind: "plan";
  /** JSON of EXPLAIN. */
  readonly plan: string;
  readonly theme: "light" | "dark";
}

let app: App | null = null;

addEventListener("message", ({ data, origin, source }: MessageEvent<PlanMessage>) => {
  if (origin !== location.origin || source !== parent || data?.kind !== "plan") return;
  document.documentElement.dataset.bsTheme = data.theme;
  app?.unmount();
  app = createApp({
    render: () => h(Plan as Component, { planSource: data.plan, planQuery: "" }),
  });
  app.mount("#app");
});

parent.postMessage({ kind: "ready" }, location.origin);

/** The rule that tests do not assert durations and do not sleep, because busy machines are slow.
 * @module */
import { projectPath } from "./project_path.ts";
import { isReference } from "./references.ts";

/** Advice in the message of the rule. */
const advice = "tests await events (eventually, holdLock), count, or inject a clock (fakeClock)";

const timers: ReadonlySet<string> = new Set(["setTimeout", "setInterval"]);

/** Objects whose method `now` returns the time. */
const clocks: ReadonlySet<string> = new Set(["performance", "Date"]);

export const noClock: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!/^tests\/.*_test\.ts$/.test(path)) return {};
    return {
      Identifier(node) {
        if (!timers.has(node.name) || !isReference(node)) return;
        context.report({ node, message: `no ${node.name}: ${advice}` });
      },
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return;
        if (callee.property.type !== "Identifier" || callee.property.name !== "now") return;
        if (!clocks.has(callee.object.name)) return;
        context.report({ node, message: `no ${callee.object.name}.now(): ${advice}` });
      },
    };
  },
};
